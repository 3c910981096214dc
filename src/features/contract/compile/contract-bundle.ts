import { asPlainObject, isPlainObject } from '../../../core/lib/plain-object.ts'
import type { JsonType, SchemaName } from '../check/compiled-contract.ts'
import { formats } from '../check/formats.ts'
import type { BundledDocument } from './bundle/bundle-document.ts'
import { countedKeyword, sharedSchema } from './compile-contract.ts'
import {
  asItems,
  type ContractFindings,
  type ContractNode,
  childOf,
  describeValue,
  type NodeIssue,
  type Tree,
} from './contract-node.ts'
import { createFollow, mapSubSchemas } from './schema-keywords.ts'
import { type FollowReference, SchemaTypeAnalysis } from './schema-types.ts'

export class ContractBundle {
  readonly document: Tree
  readonly origins: WeakMap<object, ContractNode>
  readonly follow: FollowReference
  readonly analysis: SchemaTypeAnalysis
  readonly schemas: SchemaCollector
  readonly findings: ContractFindings
  readonly faulty: ReadonlySet<object>

  constructor({ document, origins, faulty }: BundledDocument, findings: ContractFindings) {
    this.document = document
    this.origins = origins
    this.follow = createFollow(document)
    this.analysis = new SchemaTypeAnalysis(this.follow)
    this.schemas = new SchemaCollector(this.follow)
    this.findings = findings
    this.faulty = faulty
  }

  followObject(value: unknown): Tree | null {
    if (!isPlainObject(value)) return null
    const target = typeof value.$ref === 'string' ? this.follow(value.$ref) : value
    return isPlainObject(target) ? target : null
  }

  /** Empty: any type. */
  typesOf(schema: unknown): readonly JsonType[] {
    if (schema === undefined) return []
    const { types } = this.analysis.typesOf(schema)
    return types.size === 7 ? [] : [...types]
  }

  /** Includes schemas for the same value by `$ref`, `allOf`, `anyOf` and `oneOf`. */
  partsOf(schema: unknown): readonly Tree[] {
    const parts = new Set<Tree>()
    const visit = (part: unknown): void => {
      if (!isPlainObject(part) || parts.has(part)) return
      parts.add(part)
      if (typeof part.$ref === 'string') visit(this.follow(part.$ref))
      for (const keyword of ['allOf', 'anyOf', 'oneOf']) for (const each of asItems(part[keyword])) visit(each)
    }
    visit(schema)
    return [...parts]
  }

  addSchema(owner: Tree, schema: unknown): SchemaName {
    if (schema === false)
      this.error(owner, ['schema'], {
        message: 'no value can ever match the schema',
        expected: 'a schema that some value matches',
        found: 'false',
        hint: 'every message would break the contract: leave out what must not be there',
      })
    return this.schemas.add(schema)
  }

  requireBoolean(object: Tree, key: string): void {
    if (object[key] === undefined || typeof object[key] === 'boolean') return
    this.error(object, [key], {
      message: `${key} is not a boolean`,
      expected: 'true or false',
      found: describeValue(object[key]),
      hint: `write ${key}: true, or leave it out`,
    })
  }

  error(object: Tree, path: readonly (string | number)[], issue: NodeIssue): void {
    const node = this.origins.get(object)
    if (node !== undefined) this.findings.error(path.reduce(childOf, node), issue)
  }

  /** For what works, but was probably not meant. */
  warn(object: Tree, path: readonly (string | number)[], issue: NodeIssue): void {
    const node = this.origins.get(object)
    if (node !== undefined) this.findings.warn(path.reduce(childOf, node), issue)
  }
}

const stepsOf = ({ properties, required, format }: Tree): number =>
  Object.keys(asPlainObject(properties)).length + asItems(required).length + (format === undefined ? 0 : stepsPerFormat)

// Formats take 50 to 500 ns for a short text.
const stepsPerFormat = 60

class SchemaCollector {
  readonly #follow: FollowReference
  readonly schemas: Record<SchemaName, object | boolean> = {}
  readonly shared: Record<string, unknown> = {}
  readonly #names = new Map<unknown, SchemaName>()
  readonly #memberNames = new Set<string>()
  readonly #sharedNames = new Map<string, string>()

  constructor(follow: FollowReference) {
    this.#follow = follow
  }

  get used(): ReadonlySet<unknown> {
    return new Set(this.#names.keys())
  }

  find(name: SchemaName): unknown {
    return [...this.#names].find(([, each]) => each === name)?.[0]
  }

  get memberNames(): readonly string[] {
    return [...this.#memberNames]
  }

  add(schema: unknown): SchemaName {
    const known = this.#names.get(schema)
    if (known !== undefined) return known
    const name = `s${this.#names.size}`
    this.#names.set(schema, name)
    return name
  }

  finish(): void {
    for (const [schema, name] of this.#names) this.schemas[name] = this.#copy(schema) as object | boolean
  }

  #copy(schema: unknown): unknown {
    return isPlainObject(schema) ? this.#copyTree(schema) : schema
  }

  #copyTree(schema: Tree): Tree {
    // The target of a lone reference takes the steps.
    const isReference = typeof schema.$ref === 'string' && Object.keys(schema).length === 1
    const copy: Record<string, unknown> = isReference ? {} : { [countedKeyword]: stepsOf(schema) }
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword.startsWith('x-') || keyword === '$schema' || keyword === '$defs' || keyword === 'definitions')
        continue
      if (keyword === '$ref') copy.$ref = this.#share(String(value))
      else if (keyword === 'format' && !Object.hasOwn(formats, String(value))) continue
      else copy[keyword] = mapSubSchemas(keyword, value, (each) => this.#copy(each))
    }
    this.#collectNames(schema)
    return copy
  }

  #collectNames({ properties, required, dependentRequired, dependentSchemas }: Tree): void {
    const named = [properties, dependentRequired, dependentSchemas].flatMap((each) => Object.keys(asPlainObject(each)))
    const listed = [required, ...Object.values(asPlainObject(dependentRequired))].flat()
    for (const name of [...named, ...listed]) if (typeof name === 'string') this.#memberNames.add(name)
  }

  #share(pointer: string): string {
    let name = this.#sharedNames.get(pointer)
    if (name === undefined) {
      name = `d${this.#sharedNames.size}`
      this.#sharedNames.set(pointer, name)
      this.shared[name] = true
      this.shared[name] = this.#copy(this.#follow(pointer))
    }
    return sharedSchema(name)
  }
}
