import { asPlainObject, isPlainObject } from '../../../core/lib/plain-object.ts'
import type { SchemaName } from '../check/compiled-contract.ts'
import { formats } from '../check/formats.ts'
import { sharedSchema } from './compile-contract.ts'
import { asItems, type Tree } from './contract-node.ts'
import { countedKeyword } from './own-keywords.ts'
import type { FollowReference } from './schema-types.ts'
import { mapSubSchemas } from './schema-walk.ts'

/** Computes the steps of looking for the members that a schema names, and of its format. */
const stepsOf = ({ properties, required, format }: Tree): number =>
  Object.keys(asPlainObject(properties)).length + asItems(required).length + (format === undefined ? 0 : stepsPerFormat)

// Formats take 50 to 500 ns for a short text.
const stepsPerFormat = 60

/** Collects the schemas that messages are checked against, as Ajv takes them. */
export class SchemaCollector {
  readonly #follow: FollowReference
  /** The schemas by name, and those that they refer to. */
  readonly schemas: Record<SchemaName, object | boolean> = {}
  readonly shared: Record<string, unknown> = {}
  readonly #names = new Map<unknown, SchemaName>()
  readonly #memberNames = new Set<string>()
  readonly #sharedNames = new Map<string, string>()

  constructor(follow: FollowReference) {
    this.#follow = follow
  }

  /** The schemas of the document that have a name. */
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

  /** Copies what was added. Each check of a schema is counted at run time. */
  finish(): void {
    for (const [schema, name] of this.#names) this.schemas[name] = this.#copy(schema) as object | boolean
  }

  #copy(schema: unknown): unknown {
    return isPlainObject(schema) ? this.#copyTree(schema) : schema
  }

  #copyTree(schema: Tree): Tree {
    // A reference alone takes the steps of what it leads to.
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
