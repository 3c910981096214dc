import * as z from 'zod'
import { byGroup } from '../../../operations.ts'
import { endpointUrl, type ParsedEndpoint, upstreamHost } from '../schema/address.ts'
import { annotate, getAnnotations, type RenderedValue, renderMap, renderValue } from '../schema/annotations.ts'
import { headerMutationSchema } from '../schema/header-fields.ts'
import { partialShape } from '../schema/inheritance.ts'
import { scalar } from '../schema/scalar.ts'
import { boolean, integer, map, reject } from '../schema/scalar-types.ts'
import { operationDefaults } from './upstream-defaults.ts'

export const endpointUrlSchema = scalar(
  'http:// or https://, a host, and an optional path prefix; or sandbox',
  endpointUrl,
)

const weighted = z
  .strictObject({
    url: endpointUrlSchema,
    weight: integer('The share of traffic, relative to the other endpoints', { min: 0, max: 10_000 }).prefault(100),
    drain: boolean('true: the endpoint gets no new requests').prefault(false),
  })
  .transform(
    ({ url: { origin, pathPrefix }, weight, drain }): ParsedEndpoint => ({ origin, pathPrefix, weight, drain }),
  )

export const endpointSchema = annotate(
  z.union([endpointUrlSchema, weighted]).meta({ id: 'Endpoint' }),
  getAnnotations(endpointUrlSchema),
)

const stopHint = 'remove drain from one; to reject every request of an operation, set its state: reject'

const endpointListSchema = z
  .array(endpointSchema)
  .min(1)
  .max(256)
  .check((context) => {
    if (context.value.length === 0 || context.value.some(({ weight, drain }) => weight > 0 && !drain)) return
    const drained = context.value.find(({ weight }) => weight > 0)
    const expected = 'at least one endpoint with a weight above 0 that does not drain'
    if (drained === undefined) reject(context, 'no endpoint has a weight', expected, 'give one a weight of 1 or more')
    else reject(context, 'no endpoint takes work', expected, stopHint)
  })
  .meta({ description: 'Interchangeable endpoints that share the traffic by weight' })

export const targetShape = {
  endpoints: endpointListSchema,
  host: upstreamHost("The Host sent upstream: the endpoint's own, the client's, or a name").prefault('endpoint'),
  request: headerMutationSchema('request'),
  response: headerMutationSchema('response'),
}

/** A key that only a group may state; null where the group does not. */
export interface UpstreamKey {
  readonly key: string
  readonly schema: z.ZodType
  readonly described?: z.ZodType
  readonly isUpstream?: true
  render?(schema: z.ZodType, value: unknown, group: Readonly<Record<string, RenderedValue>>): RenderedValue | undefined
}

const longForm = z.strictObject(targetShape)

export const upstreamsSchema = (defaults: z.ZodObject, keys: readonly UpstreamKey[], isForEditors = false) => {
  const ownShape = Object.fromEntries(
    keys.map(({ key, schema, described = schema }) => [key, isForEditors ? described : schema]),
  )
  const nothingStated = z.strictObject(ownShape).parse({})
  const shortForm = endpointUrlSchema.transform((endpoint) => ({
    endpoints: [endpoint],
    host: 'endpoint' as const,
    request: { set: [], remove: [] },
    response: { set: [], remove: [] },
    ...nothingStated,
  }))
  const policies = isForEditors ? defaults.shape : partialShape(defaults.shape)
  const ofGroups = defaults.omit(operationDefaults)
  const upstream = annotate(
    z.union([shortForm, longForm.extend({ ...policies, ...ownShape })]).meta({ id: 'Upstream' }),
    {
      render: (merged) => {
        const rendered = { ...renderMap(longForm, merged), ...renderMap(ofGroups, merged) }
        const own = keys.flatMap(({ key, schema, render = renderValue }) => {
          const value = render(schema, Object(merged)[key], rendered)
          return value === undefined ? [] : [[key, value]]
        })
        return { ...rendered, ...Object.fromEntries(own) }
      },
    },
  )
  return map(
    'The upstream of each purpose group; all eight are required',
    byGroup(() => upstream),
  )
}
