import { isPlainObject } from '../../../core/lib/plain-object.ts'
import type { JsonType, SchemaName } from '../check/compiled-contract.ts'
import type { BundledDocument } from './bundle/bundle-document.ts'
import { SchemaCollector } from './collect-schemas.ts'
import {
  asItems,
  type ContractFindings,
  type ContractNode,
  childOf,
  describeValue,
  type NodeIssue,
  type Tree,
} from './contract-node.ts'
import { type FollowReference, SchemaTypeAnalysis } from './schema-types.ts'
import { createFollow } from './schema-walk.ts'

/** A bundled document with what reads it: its references, what its schemas may match, where its objects stand. */
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

  /** Lists the types that a text may stand for; empty: any. */
  typesOf(schema: unknown): readonly JsonType[] {
    if (schema === undefined) return []
    const { types } = this.analysis.typesOf(schema)
    return types.size === 7 ? [] : [...types]
  }

  /** Lists a schema and those that it holds the same value to, by `$ref`, `allOf`, `anyOf` and `oneOf`. */
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

  /** Reports a member that is there and neither true nor false. */
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

  /** Reports what works, but was probably not meant. */
  warn(object: Tree, path: readonly (string | number)[], issue: NodeIssue): void {
    const node = this.origins.get(object)
    if (node !== undefined) this.findings.warn(path.reduce(childOf, node), issue)
  }
}
