import * as z from 'zod'
import type { groups } from '../../catalog.ts'
import { type EndpointConfig, endpointUrl, sentHost } from './address.ts'
import { mark, writtenMap } from './facts.ts'
import { fieldEdits } from './fields.ts'
import { defaultsSchema, policySchema, policyShape } from './policy.ts'
import { scalar } from './scalar.ts'
import { boolean, integer } from './values.ts'

const url = scalar(endpointUrl, 'http:// or https://, a host, and an optional path prefix; or sandbox')

const weighted = z
  .strictObject({
    url,
    weight: integer('The share of traffic, relative to the other endpoints', { min: 0, max: 10_000 }).prefault(100),
    drain: boolean('true: it takes no new work').prefault(false),
  })
  .transform(
    ({ url: { origin, pathPrefix }, weight, drain }): EndpointConfig => ({ origin, pathPrefix, weight, drain }),
  )

/** Describes one endpoint: a URL, `sandbox`, or a URL with its weight, and whether it drains. */
export const endpointSchema = mark(z.union([url, weighted]).meta({ id: 'Endpoint' }), endpointUrl)

const inherited: Partial<z.output<z.ZodObject<typeof policyShape>>> = {}

const short = url.transform((endpoint) => ({
  endpoints: [endpoint],
  host: 'endpoint' as const,
  request: { set: [], remove: [] },
  response: { set: [], remove: [] },
  ...inherited,
}))

const own = z.strictObject({
  endpoints: z
    .array(endpointSchema)
    .min(1)
    .max(256)
    .check((context) => {
      if (context.value.length === 0 || context.value.some(({ weight, drain }) => weight > 0 && !drain)) return
      const drained = context.value.find(({ weight }) => weight > 0)
      const params = {
        expected: 'at least one endpoint with a weight above 0 that does not drain',
        hint:
          drained === undefined
            ? 'give one a weight of 1 or more'
            : 'let one take work; to refuse every request of an operation, set its state: refuse',
      }
      const message = drained === undefined ? 'no endpoint has a weight' : 'no endpoint takes work'
      context.issues.push({ code: 'custom', message, params, input: context.value })
    })
    .meta({ description: 'Interchangeable endpoints that share the traffic by weight' }),
  host: sentHost("The Host sent upstream: the endpoint's own, the client's, or a name").prefault('endpoint'),
  request: fieldEdits('request'),
  response: fieldEdits('response'),
})

const upstreamOf = <S extends z.core.$ZodLooseShape>(policies: S) =>
  mark(z.union([short, own.extend(policies)]).meta({ id: 'Upstream' }), {
    write: (merged) => ({ ...writtenMap(own, merged), ...writtenMap(policySchema, merged) }),
  })

const forEachGroup = <S extends z.ZodType>(upstream: S) =>
  z
    .strictObject({
      valuation: upstream,
      financing: upstream,
      analysis: upstream,
      risk: upstream,
      inventory: upstream,
      leads: upstream,
      compliance: upstream,
      market: upstream,
    } satisfies Record<(typeof groups)[number], S>)
    .meta({ description: 'What stands behind each purpose group; all eight are required' })

/** Requires an upstream for each of the eight groups: a URL, `sandbox`, or the long form. */
export const upstreamsSchema = forEachGroup(upstreamOf(policyShape))

/** Describes the same for an editor, which is told what is built in. */
export const describedUpstreams = forEachGroup(upstreamOf(defaultsSchema.shape))
