import { asPlainObject, isPlainObject, ownMember, unescapeSegment } from '../../../core/lib/plain-object.ts'
import { asItems, type Tree } from './contract-node.ts'

export type KeywordValue = 'any' | 'schema' | 'schema-list' | 'schema-map'

export const schemaKeywords: Readonly<Record<string, KeywordValue>> = {
  $ref: 'any',
  $schema: 'any',
  $comment: 'any',
  $defs: 'schema-map',
  definitions: 'schema-map',
  ...byKind('schema', [
    'additionalProperties',
    'contains',
    'contentSchema',
    'else',
    'if',
    'items',
    'not',
    'propertyNames',
    'then',
    'unevaluatedProperties',
  ]),
  ...byKind('schema-list', ['allOf', 'anyOf', 'oneOf', 'prefixItems']),
  ...byKind('schema-map', ['dependentSchemas', 'patternProperties', 'properties']),
  ...byKind('any', [
    'type',
    'const',
    'enum',
    'multipleOf',
    'maximum',
    'exclusiveMaximum',
    'minimum',
    'exclusiveMinimum',
    'maxLength',
    'minLength',
    'pattern',
    'format',
    'maxItems',
    'minItems',
    'uniqueItems',
    'maxContains',
    'minContains',
    'maxProperties',
    'minProperties',
    'required',
    'dependentRequired',
    'title',
    'description',
    'default',
    'deprecated',
    'readOnly',
    'writeOnly',
    'examples',
    'contentEncoding',
    'contentMediaType',
    // OpenAPI 3.1 §4.8.24: they check nothing.
    'discriminator',
    'xml',
    'externalDocs',
    'example',
  ]),
}

function byKind(kind: KeywordValue, names: readonly string[]): Readonly<Record<string, KeywordValue>> {
  return Object.fromEntries(names.map((name) => [name, kind]))
}

const byPointer = 'refer to schemas by file and path: $ref: assets.yaml#/Asset'

/** Rejected keywords, each with a replacement. */
export const refusedKeywords: Readonly<Record<string, string>> = {
  $id: byPointer,
  $anchor: byPointer,
  $dynamicRef: byPointer,
  $dynamicAnchor: byPointer,
  $recursiveRef: byPointer,
  $recursiveAnchor: byPointer,
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

interface SubSchema {
  readonly schema: unknown
  readonly keyword: string
}

export const subSchemas = (schema: Tree): readonly SubSchema[] =>
  Object.entries(schema).flatMap(([keyword, value]) => {
    const kind: KeywordValue | undefined = ownMember(schemaKeywords, keyword)
    if (kind === 'schema') return [{ schema: value, keyword }]
    if (kind === 'schema-list') return asItems(value).map((each) => ({ schema: each, keyword }))
    if (kind === 'schema-map') return Object.values(asPlainObject(value)).map((each) => ({ schema: each, keyword }))
    return []
  })

export const mapSubSchemas = (keyword: string, value: unknown, map: (schema: unknown) => unknown): unknown => {
  const kind: KeywordValue | undefined = ownMember(schemaKeywords, keyword)
  if (kind === 'schema') return map(value)
  if (kind === 'schema-list' && Array.isArray(value)) return value.map(map)
  if (kind === 'schema-map' && isPlainObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, map(each)]))
  return value
}

/** References are not followed. */
export const forEachSchema = (schema: unknown, visit: (schema: Tree) => void): void => {
  if (!isPlainObject(schema)) return
  visit(schema)
  for (const { schema: inner } of subSchemas(schema)) forEachSchema(inner, visit)
}

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
