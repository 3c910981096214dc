import { isPlainObject, ownMember, unescapeSegment } from '../../../core/lib/plain-object.ts'
import { asItems, memberAt, type Tree } from './contract-node.ts'

type KeywordValue = 'any' | 'schema' | 'schema-list' | 'schema-map'

export const schemaKeywords: Readonly<Record<string, KeywordValue>> = {
  ...each('any', '$ref $schema $comment'),
  ...each('schema-map', '$defs definitions'),
  ...each('schema', 'additionalProperties contains contentSchema else if items not propertyNames then'),
  ...each('schema', 'unevaluatedProperties'),
  ...each('schema-list', 'allOf anyOf oneOf prefixItems'),
  ...each('schema-map', 'dependentSchemas patternProperties properties'),
  ...each('any', 'type const enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength'),
  ...each('any', 'pattern format maxItems minItems uniqueItems maxContains minContains maxProperties minProperties'),
  ...each('any', 'required dependentRequired title description default deprecated readOnly writeOnly examples'),
  ...each('any', 'contentEncoding contentMediaType'),
  // OpenAPI 3.1 §4.8.24: they check nothing.
  ...each('any', 'discriminator xml externalDocs example'),
}

function each<T>(value: T, names: string): Readonly<Record<string, T>> {
  return Object.fromEntries(names.split(' ').map((name) => [name, value]))
}

export const rejectedKeywords: Readonly<Record<string, string>> = {
  ...each(
    'refer to schemas by file and path: $ref: assets.yaml#/Asset',
    '$id $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor',
  ),
  $vocabulary: 'remove it: every schema is one of JSON Schema 2020-12',
  nullable: "write type: [string, 'null'] instead: OpenAPI 3.1 has no nullable",
  additionalItems: 'write prefixItems for the first items, and items for the rest',
  dependencies: 'write dependentRequired or dependentSchemas',
  // Ajv counts items as unevaluated that `contains`, or `items` in a branch, has evaluated (JSON Schema's test suite).
  unevaluatedItems: 'write prefixItems for the first items, and items: false',
}

export const jsonSchemaDialect = 'https://json-schema.org/draft/2020-12/schema'

/** OpenAPI's own dialects only add annotations. */
export const isKnownDialect = (dialect: unknown): boolean =>
  dialect === jsonSchemaDialect ||
  (typeof dialect === 'string' &&
    /^https:\/\/spec\.openapis\.org\/oas\/3\.[12]\/dialect\/(?:base|\d{4}-\d\d-\d\d)$/.test(dialect))

export const mapSubSchemas = (
  keyword: string,
  value: unknown,
  map: (schema: unknown, ...at: readonly (string | number)[]) => unknown,
): unknown => {
  const kind = ownMember(schemaKeywords, keyword)
  if (kind === 'schema') return map(value)
  if (kind === 'schema-list' && Array.isArray(value)) return value.map((each, index) => map(each, index))
  if (kind === 'schema-map' && isPlainObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, map(each, name)]))
  return value
}

export const subSchemas = (schema: Tree) => {
  const found: { readonly schema: unknown; readonly keyword: string }[] = []
  for (const [keyword, value] of Object.entries(schema))
    mapSubSchemas(keyword, value, (each) => found.push({ schema: each, keyword }))
  return found
}

/** References are not followed. */
export const forEachSchema = (schema: unknown, visit: (schema: Tree) => void): void => {
  if (!isPlainObject(schema)) return
  visit(schema)
  for (const { schema: inner } of subSchemas(schema)) forEachSchema(inner, visit)
}

export type FollowReference = (pointer: string) => unknown

export const combining: readonly string[] = ['allOf', 'anyOf', 'oneOf']

/** Schemas for the same value, by `$ref`, `allOf`, `anyOf` and `oneOf`. */
export const listParts = (schema: unknown, follow: FollowReference): readonly Tree[] => {
  const parts = new Set<Tree>()
  const visit = (part: unknown): void => {
    if (!isPlainObject(part) || parts.has(part)) return
    parts.add(part)
    if (typeof part.$ref === 'string') visit(follow(part.$ref))
    for (const keyword of combining) for (const each of asItems(part[keyword])) visit(each)
  }
  visit(schema)
  return [...parts]
}

export const createFollow = (document: Tree): FollowReference => {
  const found = new Map<string, unknown>()
  return (pointer) => {
    if (!found.has(pointer)) {
      const names = decodeURIComponent(pointer).split('/').slice(1).map(unescapeSegment)
      found.set(pointer, names.reduce<unknown>(memberAt, document))
    }
    return found.get(pointer)
  }
}
