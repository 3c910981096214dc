import * as z from 'zod'
import { insertBeside } from '../lib/beside.ts'
import type { ParsedConfig } from './config.ts'
import { configPartLoaders, configParts, type OperationKey } from './config-part.ts'
import { coreSchema } from './core-schema.ts'
import { operationsSchema } from './sections/operations.ts'

configParts.push(...(await Promise.all([...configPartLoaders].map((load) => load()))))

export const operationKeys: readonly OperationKey[] = configParts
  .flatMap((part) => part.operationKeys ?? [])
  .sort((a, b) => a.order - b.order)

const keysOf = (method: 'get' | 'post') =>
  Object.fromEntries(
    operationKeys.flatMap(({ key, [method]: schema }) => (schema === undefined ? [] : [[key, schema]])),
  )

const operations = operationsSchema(keysOf('get'), keysOf('post')).prefault({})

const sections = insertBeside<string, readonly [key: string, z.core.$ZodType]>(
  Object.fromEntries(Object.entries({ ...coreSchema.shape, operations }).map((section) => [section[0], section])),
  configParts.flatMap((part) => part.sections ?? []).map((each) => ({ ...each, value: [each.key, each.schema] })),
)

/** The schema of the configuration file: the keys of core and of features. */
export const configSchema = z
  .strictObject(Object.fromEntries(sections))
  .meta(coreSchema.meta() ?? {}) as z.ZodType as z.ZodType<ParsedConfig> & typeof coreSchema
