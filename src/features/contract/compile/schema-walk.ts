import { asPlainObject, isPlainObject, ownMember } from '../../../core/lib/plain-object.ts'
import { unescapeSegment } from '../../../core/lib/text/json-pointer.ts'
import { asItems, type Tree } from './contract-node.ts'
import { type KeywordValue, schemaKeywords } from './schema-keywords.ts'

interface SubSchema {
  readonly schema: unknown
  readonly keyword: string
}

/** Lists the schemas directly inside a schema. */
export const subSchemas = (schema: Tree): readonly SubSchema[] =>
  Object.entries(schema).flatMap(([keyword, value]) => {
    const kind: KeywordValue | undefined = ownMember(schemaKeywords, keyword)
    if (kind === 'schema') return [{ schema: value, keyword }]
    if (kind === 'schema-list') return asItems(value).map((each) => ({ schema: each, keyword }))
    if (kind === 'schema-map') return Object.values(asPlainObject(value)).map((each) => ({ schema: each, keyword }))
    return []
  })

/** Returns the value of a keyword with other schemas in it: `map` makes one of each. */
export const mapSubSchemas = (keyword: string, value: unknown, map: (schema: unknown) => unknown): unknown => {
  const kind: KeywordValue | undefined = ownMember(schemaKeywords, keyword)
  if (kind === 'schema') return map(value)
  if (kind === 'schema-list' && Array.isArray(value)) return value.map(map)
  if (kind === 'schema-map' && isPlainObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, map(each)]))
  return value
}

/** Calls `visit` with a schema and each inside it, as far as they are maps. References are not followed. */
export const forEachSchema = (schema: unknown, visit: (schema: Tree) => void): void => {
  if (!isPlainObject(schema)) return
  visit(schema)
  for (const { schema: inner } of subSchemas(schema)) forEachSchema(inner, visit)
}

/** Creates what finds the target of a reference in a bundled document, once for each. */
export const createFollow = (document: Tree): ((pointer: string) => unknown) => {
  const found = new Map<string, unknown>()
  return (pointer) => {
    if (!found.has(pointer)) {
      let value: unknown = document
      for (const segment of decodeURIComponent(pointer).split('/').slice(1)) {
        const name = unescapeSegment(segment)
        value =
          typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Tree)[name] : undefined
      }
      found.set(pointer, value)
    }
    return found.get(pointer)
  }
}
