import * as z from 'zod'
import { endpointUrl, type ParsedEndpoint, upstreamHost } from '../schema/address.ts'
import { annotate, getAnnotations } from '../schema/annotations.ts'
import { reject } from '../schema/collections.ts'
import { headerMutationSchema } from '../schema/header-fields.ts'
import { scalar } from '../schema/scalar.ts'
import { boolean, integer } from '../schema/scalar-types.ts'

export const endpointUrlSchema = scalar(
  endpointUrl,
  'http:// or https://, a host, and an optional path prefix; or sandbox',
)

const weighted = z
  .strictObject({
    url: endpointUrlSchema,
    weight: integer('The share of traffic, relative to the other endpoints', { min: 0, max: 10_000 }).prefault(100),
    drain: boolean('true: it takes no new work').prefault(false),
  })
  .transform(
    ({ url: { origin, pathPrefix }, weight, drain }): ParsedEndpoint => ({ origin, pathPrefix, weight, drain }),
  )

export const endpointSchema = annotate(
  z.union([endpointUrlSchema, weighted]).meta({ id: 'Endpoint' }),
  getAnnotations(endpointUrlSchema),
)

const stopHint = 'let one take work; to refuse every request of an operation, set its state: refuse'

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

/** The shape of where the requests of an upstream go, and of what is changed about them. */
export const targetShape = {
  endpoints: endpointListSchema,
  host: upstreamHost("The Host sent upstream: the endpoint's own, the client's, or a name").prefault('endpoint'),
  request: headerMutationSchema('request'),
  response: headerMutationSchema('response'),
}
