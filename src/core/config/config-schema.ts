import * as z from 'zod'
import { type Beside, insertBeside } from '../lib/beside.ts'
import type { ParsedConfig } from './config.ts'
import { configPartLoaders, configParts, type OperationKey } from './config-part.ts'
import { coreSchema } from './core-schema.ts'
import { operationsSchema } from './sections/operations.ts'
import { defaultsSchema } from './sections/upstream-defaults.ts'
import { upstreamsSchema } from './sections/upstreams.ts'

configParts.push(...(await Promise.all([...configPartLoaders].map((load) => load()))))

export const operationKeys: readonly OperationKey[] = configParts
  .flatMap((part) => part.operationKeys ?? [])
  .sort((a, b) => a.order - b.order)

const keysOf = (method: 'get' | 'post') =>
  Object.fromEntries(
    operationKeys.flatMap(({ key, [method]: schema }) => (schema === undefined ? [] : [[key, schema]])),
  )

const operations = operationsSchema(keysOf('get'), keysOf('post')).prefault({})

type Shape = Readonly<Record<string, z.core.$ZodType>>

/** Puts keys of features in their places among those of core. */
const insertKeys = (
  own: Shape,
  more: readonly (Beside<string> & { readonly key: string; readonly schema: z.ZodType })[],
): Shape =>
  Object.fromEntries(
    insertBeside<string, readonly [key: string, z.core.$ZodType]>(
      Object.fromEntries(Object.entries(own).map((entry) => [entry[0], entry])),
      more.map((each) => ({ ...each, value: [each.key, each.schema] })),
    ),
  )

const defaults = z
  .strictObject(
    insertKeys(
      defaultsSchema.shape,
      configParts.flatMap((part) => part.policyKeys ?? []),
    ),
  )
  .meta(defaultsSchema.meta() ?? {})

// One definition for both in the JSON Schema: defaults and groups.
for (const [key, schema] of Object.entries(defaults.shape))
  z.globalRegistry.add(schema, { id: key.replace(/^./, (letter) => letter.toUpperCase()) })

export const upstreamKeys = configParts.flatMap((part) => part.upstreamKeys ?? [])

const sections = insertKeys(
  {
    ...coreSchema.shape,
    defaults: defaults.prefault({}),
    upstreams: upstreamsSchema(defaults, upstreamKeys),
    operations,
  },
  configParts.flatMap((part) => part.sections ?? []),
)

/** The schema of the configuration file: the keys of core and of features. */
export const configSchema = z
  .strictObject(sections)
  .meta(coreSchema.meta() ?? {}) as z.ZodType as z.ZodType<ParsedConfig> & typeof coreSchema

/** The same for editors. */
export const describedSchema = configSchema
  .extend({ upstreams: upstreamsSchema(defaults, upstreamKeys, true) })
  .meta(configSchema.meta() ?? {})
