import * as z from 'zod'
import { configSchema } from './config-schema.ts'
import { sharedDefinitions } from './schema/scalar.ts'
import { describedUpstreamsSchema } from './sections/upstreams.ts'

const described = configSchema.extend({ upstreams: describedUpstreamsSchema }).meta(configSchema.meta() ?? {})

/** Makes the JSON Schema (draft-7) that editors use, from the schema that validates. Placeholders such as `${NAME}` pass. */
export function jsonSchema(): Record<string, unknown> {
  const { definitions = {}, ...schema } = z.toJSONSchema(described, {
    io: 'input',
    target: 'draft-7',
    reused: 'inline',
  })
  return { ...schema, definitions: { ...Object(definitions), ...Object.fromEntries([...sharedDefinitions].sort()) } }
}

/** Writes the JSON Schema as it stands in `config/gateway.schema.json`, ending in a line feed. */
export const jsonSchemaText = (): string => `${JSON.stringify(jsonSchema(), null, 2)}\n`
