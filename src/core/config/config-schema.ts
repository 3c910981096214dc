import * as z from 'zod'
import { insertBeside } from '../lib/beside.ts'
import type { ParsedConfig } from './config.ts'
import { configPartLoaders, configParts, type OperationKey, operatorKeys, type PlacedKey } from './config-part.ts'
import { coreSchema } from './core-schema.ts'
import { annotate, getAnnotations } from './schema/annotations.ts'
import { adminSchema } from './sections/admin.ts'
import { listenSchema } from './sections/listen.ts'
import { operationsSchema } from './sections/operations.ts'
import { defaultsSchema } from './sections/upstream-defaults.ts'
import { upstreamsSchema } from './sections/upstreams.ts'

configParts.push(...(await configPartLoaders.load()))

export const operationKeys: readonly OperationKey[] = configParts
  .flatMap((part) => part.operationKeys ?? [])
  .sort((a, b) => a.order - b.order)

const keysOf = (method: 'get' | 'post') =>
  Object.fromEntries(
    operationKeys.flatMap(({ key, [method]: schema }) => (schema === undefined ? [] : [[key, schema]])),
  )

const operations = operationsSchema(keysOf('get'), keysOf('post')).prefault({})

type Shape = Readonly<Record<string, z.core.$ZodType>>

const extend = <S extends z.ZodObject>(own: S, more: readonly PlacedKey<Shape>[], shape: Shape = own.shape) =>
  annotate(
    z
      .strictObject(
        Object.fromEntries(
          insertBeside<string, readonly [key: string, z.core.$ZodType]>(
            Object.fromEntries(Object.entries(shape).map((entry) => [entry[0], entry])),
            more.map((each) => ({ ...each, value: [each.key, each.schema] })),
          ),
        ),
      )
      .meta(own.meta() ?? {}),
    getAnnotations(own),
  )

const defaults = extend(
  defaultsSchema,
  configParts.flatMap((part) => part.policyKeys ?? []),
)

for (const [key, schema] of Object.entries(defaults.shape))
  z.globalRegistry.add(schema, { id: key.replace(/^./, (letter) => letter.toUpperCase()) })

export const upstreamKeys = configParts.flatMap((part) => part.upstreamKeys ?? [])

export const sections = configParts.flatMap((part) => part.sections ?? [])

export const configSchema = extend(coreSchema, sections, {
  ...coreSchema.shape,
  listen: extend(
    listenSchema,
    configParts.flatMap((part) => part.listenKeys ?? []),
  ).prefault({}),
  admin: extend(adminSchema, operatorKeys()).prefault({}),
  defaults: defaults.prefault({}),
  upstreams: upstreamsSchema(defaults, upstreamKeys),
  operations,
}) as z.ZodType as z.ZodType<ParsedConfig> & typeof coreSchema

export const describedSchema = configSchema
  .extend({ upstreams: upstreamsSchema(defaults, upstreamKeys, true) })
  .meta(configSchema.meta() ?? {})
