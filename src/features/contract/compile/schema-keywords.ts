/** What stands in a keyword of JSON Schema 2020-12: any value, a schema, or a list or a map of schemas. */
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

/** Keywords that are refused, each with what to write instead. */
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
  // Ajv takes items for unevaluated that `contains`, or `items` in a branch, has evaluated: the suite shows it.
  unevaluatedItems: 'write prefixItems for the first items, and items: false',
}

export const jsonSchemaDialect = 'https://json-schema.org/draft/2020-12/schema'

/** Tells whether `$schema` or `jsonSchemaDialect` names a dialect that is read: OpenAPI's own add annotations alone. */
export const isKnownDialect = (dialect: unknown): boolean =>
  dialect === jsonSchemaDialect ||
  (typeof dialect === 'string' &&
    /^https:\/\/spec\.openapis\.org\/oas\/3\.[12]\/dialect\/(?:base|\d{4}-\d\d-\d\d)$/.test(dialect))
