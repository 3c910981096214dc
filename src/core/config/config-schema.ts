import * as z from 'zod'
import { insertBeside } from '../lib/beside.ts'
import { configParts } from './config-parts.ts'
import { coreSchema, type ParsedConfig } from './core-schema.ts'

const sections = insertBeside<string, readonly [key: string, z.core.$ZodType]>(
  Object.fromEntries(Object.entries(coreSchema.shape).map((section) => [section[0], section])),
  configParts.flatMap((part) => part.sections ?? []).map((each) => ({ ...each, value: [each.key, each.schema] })),
)

/** The schema of the configuration file: the sections of core and of features. */
export const configSchema = z
  .strictObject(Object.fromEntries(sections))
  .meta(coreSchema.meta() ?? {}) as z.ZodType as z.ZodType<ParsedConfig> & typeof coreSchema
