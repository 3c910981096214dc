import * as z from 'zod'
import { describedSchema } from './config-schema.ts'
import { sharedDefinitions } from './schema/scalar.ts'
import { offeredKeys } from './schema/schema-keys.ts'

/**
 * Makes the JSON Schema (draft-7) for editors from the schema that validates. Placeholders such as `${NAME}` pass. Keys
 * that no value may be given to are left out: an editor would offer them.
 */
export function jsonSchema(): Record<string, unknown> {
  const { definitions = {}, ...schema } = z.toJSONSchema(describedSchema, {
    io: 'input',
    target: 'draft-7',
    reused: 'inline',
    override: ({ zodSchema, jsonSchema: { properties = {} } }) => {
      if (!(zodSchema instanceof z.ZodObject)) return
      const offered = offeredKeys(zodSchema)
      for (const key of Object.keys(properties)) if (!offered.includes(key)) delete properties[key]
    },
  })
  return { ...schema, definitions: { ...Object(definitions), ...Object.fromEntries([...sharedDefinitions].sort()) } }
}

/** Renders the JSON Schema as it stands in `config/gateway.schema.json`, with a line feed at the end. */
export const jsonSchemaText = (): string => `${JSON.stringify(jsonSchema(), null, 2)}\n`
