import { unescapeSegment } from '../../contract/json-pointer.ts'
import { isPlainObject } from '../../plain-object.ts'
import { asItems, asTree, type Tree } from './contract-node.ts'
import { type KeywordValue, schemaKeywords } from './schema-keywords.ts'

/** A schema inside another one. */
export interface SubSchema {
  readonly schema: unknown
  /** The keys that lead to it from the schema around it. */
  readonly path: readonly (string | number)[]
  readonly keyword: string
}

/** Lists the schemas directly inside a schema. */
export const subSchemas = (schema: Tree): readonly SubSchema[] =>
  Object.entries(schema).flatMap(([keyword, value]) => {
    const kind: KeywordValue | undefined = Object.hasOwn(schemaKeywords, keyword) ? schemaKeywords[keyword] : undefined
    if (kind === 'schema') return [{ schema: value, path: [keyword], keyword }]
    if (kind === 'schema-list')
      return asItems(value).map((each, index) => ({ schema: each, path: [keyword, index], keyword }))
    if (kind === 'schema-map')
      return Object.entries(asTree(value)).map(([name, each]) => ({ schema: each, path: [keyword, name], keyword }))
    return []
  })

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
