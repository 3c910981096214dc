import * as z from 'zod'
import { isPlainObject } from '../plain-object.ts'
import { configSchema } from './config-schema.ts'
import { sharedDefinitions } from './schema/scalar.ts'
import { describedUpstreamsSchema } from './sections/upstreams.ts'

const described = configSchema.extend({ upstreams: describedUpstreamsSchema }).meta(configSchema.meta() ?? {})

/** Makes the JSON Schema (draft-7) for editors from the schema that validates. Placeholders such as `${NAME}` pass. */
export function jsonSchema(): Record<string, unknown> {
  const { definitions = {}, ...schema } = z.toJSONSchema(described, {
    io: 'input',
    target: 'draft-7',
    reused: 'inline',
  })
  const all = { ...Object(definitions), ...Object.fromEntries([...sharedDefinitions].sort()) }
  return Object(withoutForbiddenKeys({ ...schema, definitions: all }))
}

/** Leaves out keys that no value may be given to: an editor would offer them. */
const withoutForbiddenKeys = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(withoutForbiddenKeys)
  if (!isPlainObject(node)) return node
  const { properties } = node
  const kept = isPlainObject(properties)
    ? { properties: Object.fromEntries(Object.entries(properties).filter(([, value]) => !isForbiddenKey(value))) }
    : {}
  return Object.fromEntries(
    Object.entries({ ...node, ...kept }).map(([key, value]) => [key, withoutForbiddenKeys(value)]),
  )
}

/** Recognizes the JSON Schema of a key that rejects every value, beside which a placeholder may stand. */
const isForbiddenKey = (schema: unknown): boolean =>
  isPlainObject(schema) && Array.isArray(schema.anyOf) && JSON.stringify(schema.anyOf[0]) === '{"not":{}}'

/** Renders the JSON Schema as it stands in `config/gateway.schema.json`, with a line feed at the end. */
export const jsonSchemaText = (): string => `${JSON.stringify(jsonSchema(), null, 2)}\n`
