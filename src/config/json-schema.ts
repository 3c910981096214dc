import * as z from 'zod'
import { configSchema } from './schema.ts'

/** Makes the JSON Schema (draft-7) that editors use, from the schema that validates. Placeholders such as `${NAME}` pass. */
export function jsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7', reused: 'inline' })
}

/** Writes the JSON Schema as it stands in `config/gateway.schema.json`, ending in a line feed. */
export const jsonSchemaText = (): string => `${JSON.stringify(jsonSchema(), null, 2)}\n`
