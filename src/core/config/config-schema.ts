import * as z from 'zod'
import { configParts } from './config-parts.ts'
import { coreSchema, type ParsedConfig } from './core-schema.ts'

const sections = configParts.flatMap((part) => part.sections ?? [])

const shape = Object.fromEntries(
  Object.entries(coreSchema.shape).flatMap(([key, schema]) => [
    [key, schema],
    ...sections.filter(({ after }) => after === key).map((section) => [section.key, section.schema]),
  ]),
)

/** The schema of the configuration file: the sections of core and of features. */
export const configSchema = z
  .strictObject(shape)
  .meta(coreSchema.meta() ?? {}) as z.ZodType as z.ZodType<ParsedConfig> & typeof coreSchema
