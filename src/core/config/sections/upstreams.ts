import * as z from 'zod'
import { candidateSchema, describedCandidateSchema } from '../../../features/candidate/config/candidate.ts'
import type { groups } from '../../../operations.ts'
import type { RenderedValue } from '../redact.ts'
import { annotate, optionalKey } from '../schema/annotations.ts'
import { renderMap } from '../schema/render.ts'
import { defaultsSchema, upstreamPolicySchema, upstreamPolicyShape } from './upstream-defaults.ts'
import { endpointUrlSchema, targetShape } from './upstream-target.ts'

const emptyPolicies: Partial<z.output<z.ZodObject<typeof upstreamPolicyShape>>> = {}

const shortForm = endpointUrlSchema.transform((endpoint) => ({
  endpoints: [endpoint],
  host: 'endpoint' as const,
  request: { set: [], remove: [] },
  response: { set: [], remove: [] },
  candidate: null,
  ...emptyPolicies,
}))

const longForm = z.strictObject(targetShape)

const candidateForm = z.strictObject({ candidate: optionalKey(candidateSchema) })

const upstreamSchema = <S extends z.core.$ZodLooseShape>(policies: S) =>
  annotate(z.union([shortForm, longForm.extend(policies)]).meta({ id: 'Upstream' }), {
    render: (merged) => {
      const own = { ...renderMap(longForm, merged), ...renderMap(upstreamPolicySchema, merged) }
      const { candidate } = renderMap(candidateForm, merged)
      if (candidate === undefined) return own
      return { ...own, candidate: withoutTlsOf(own, candidate, Object(merged).candidate.upstream.tls) }
    },
  })

/** Says `none` for what the group has under `tls`, and is null for its candidate: left out, it would be inherited. */
const withoutTlsOf = (
  group: { readonly tls?: RenderedValue },
  candidate: RenderedValue,
  tls: { readonly [key: string]: unknown },
): RenderedValue => {
  const missing = Object.keys(Object(group.tls)).filter((key) => tls[key] === null)
  return {
    ...Object(candidate),
    tls: { ...Object(candidate).tls, ...Object.fromEntries(missing.map((key) => [key, 'none'])) },
  }
}

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

export const upstreamsSchema = forEachGroup(upstreamSchema({ ...upstreamPolicyShape, ...candidateForm.shape }))

/** The schema of `upstreams` for editors, which shows the built-in values. */
export const describedUpstreamsSchema = forEachGroup(
  upstreamSchema({ ...defaultsSchema.shape, candidate: optionalKey(describedCandidateSchema) }),
)
