import { Validator } from '@seriousme/openapi-schema-validator'
import type { PlainObject } from '../../../src/core/lib/plain-object.ts'
import { memberOf } from '../../../src/features/openapi/component-registry.ts'
import { createOpenApiDocument } from '../../../src/features/openapi/openapi-document.ts'
import { type Settings, testConfig } from '../../helpers/gateway.ts'

/** Creates the document of a configuration, as a client reads it; `contract` stands in for the one of its file. */
export const documentOf = (settings: Settings = {}, contract?: unknown): PlainObject => {
  const config = testConfig(settings)
  // Where the feature `contract` is.
  const { compiledContract = null } = config as { readonly compiledContract?: { readonly document: unknown } | null }
  const given = contract === undefined ? (compiledContract?.document ?? null) : contract
  return JSON.parse(JSON.stringify(createOpenApiDocument(config, given)))
}

/** Lists what the schema of OpenAPI 3.1 finds wrong with a document, and references that lead nowhere. */
export const problemsOf = async (document: PlainObject): Promise<readonly unknown[]> => {
  const { valid, errors = [] } = await new Validator().validate(structuredClone({ ...document }))
  const dangling = referencesOf(document).filter((reference) => at(document, reference) === undefined)
  return [...(valid ? [] : [errors].flat()), ...dangling]
}

/** Lists every reference of a document. */
const referencesOf = (document: PlainObject): readonly string[] => [
  ...new Set([...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference = '']) => reference)),
]

/** Returns what stands in a document at a JSON pointer; undefined: nothing does. */
export const at = (document: PlainObject, pointer: string): unknown =>
  pointer
    .replace(/^#?\//, '')
    .split('/')
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((node, name) => (Array.isArray(node) ? node[Number(name)] : memberOf(node, name)), document)

/** Lists the operations of a document as `METHOD path`, wherever they stand. */
export const operationsOf = (document: PlainObject): readonly string[] => {
  const paths = {
    ...Object(document.paths),
    ...Object(document.webhooks),
    ...Object(at(document, '/components/pathItems')),
  }
  return Object.entries<object>(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((name) => /^(get|put|post|delete|options|head|patch|trace)$/.test(name))
      .map((method) => `${method.toUpperCase()} ${path}`),
  )
}
