import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import type { DeepReadonly, UpstreamConfig } from '../../../core/config/config.ts'
import { hashValue } from '../../../core/config/config-hash.ts'
import type { ResolveUpstream } from '../../../core/config/config-part.ts'
import { resolveSide } from '../../../core/config/load/resolve-levels.ts'
import { annotate, optionalKey, renderMap, renderValue } from '../../../core/config/schema/annotations.ts'
import { optionalResponseField } from '../../../core/config/schema/header-fields.ts'
import { optionalPolicy, partialShape } from '../../../core/config/schema/inheritance.ts'
import {
  boolean,
  clientName,
  duration,
  integer,
  list,
  multiple,
  percent,
} from '../../../core/config/schema/scalar-types.ts'
import { defaultsSchema, operationDefaults } from '../../../core/config/sections/upstream-defaults.ts'
import type { UpstreamKey } from '../../../core/config/sections/upstreams.ts'
import { endpointUrlSchema, targetShape } from '../../../core/config/sections/upstreams.ts'
import { isPlainObject } from '../../../core/lib/plain-object.ts'
import { candidateShadowSchema } from './candidate-shadow.ts'
import { stepsSchema } from './candidate-steps.ts'

// What features add to a group stands above the two sides, as its wait and its size do.
const policies = defaultsSchema.omit(operationDefaults)

const { endpoints, ...inheritedTarget } = targetShape

const inheritedShape = partialShape(inheritedTarget)

const policyShape = { ...inheritedShape, ...partialShape(policies.shape) }

/** Null: never. */
const candidateGuardSchema = optionalPolicy(
  z
    .strictObject({
      errors: multiple('How many times the part of the requests that the primary fails').prefault('2x'),
      latency: multiple('How many times the 95th percentile of the time until the head at the primary', {
        min: 1.1,
      }).prefault('1.5x'),
      minRequests: integer('Fewest requests of the candidate to judge by', { min: 10, max: 1_000_000 }).prefault(50),
      window: duration('How long a request counts', { min: 1000, max: 600_000 }).prefault('1m'),
    })
    .meta({ description: 'When the candidate is taken back by itself' }),
  '{ errors: 2x, latency: 1.5x }',
)

/** Null: no field names the side. */
export const exposeSchema = optionalResponseField(
  'The response field that names the side, or none',
  'X-Upstream-Side',
).prefault('none')

/** The keys of a candidate that no upstream has. Each has a default, so that a URL alone is a candidate. */
const ownForm = z.strictObject({
  share: percent('Part of the clients that it gets; each stays when the share grows').prefault('0%'),
  steps: stepsSchema.prefault('none'),
  guard: candidateGuardSchema.prefault({}),
  shadow: candidateShadowSchema.prefault('none'),
  clients: list('Clients that it gets, whatever the share is', clientName('The name of a client, as clients has it'), {
    max: 10_000,
  }).prefault([]),
  fallback: boolean(
    'Whether the upstream of the group serves what fails here, where another attempt is allowed',
  ).prefault(true),
  expose: exposeSchema,
})

/** The keys of a candidate that go with it when it becomes the upstream. */
export const candidateOnlyKeys: readonly string[] = Object.keys(ownForm.shape)

const nothingStated: Partial<z.output<z.ZodObject<typeof policyShape>>> = {}

const shortForm = endpointUrlSchema.transform((endpoint) => ({
  endpoints: [endpoint],
  ...nothingStated,
  ...ownForm.parse({}),
}))

const candidateForm = <S extends z.core.$ZodLooseShape>(inherited: S) =>
  annotate(
    z
      .union([shortForm, z.strictObject({ endpoints, ...inherited, ...ownForm.shape })])
      .meta({ id: 'Candidate', description: 'A second upstream, to be tried before it replaces the first' }),
    {
      render: (candidate) => ({
        ...renderMap(z.strictObject(targetShape), Object(candidate).upstream),
        ...renderMap(policies, Object(candidate).upstream),
        ...renderMap(ownForm, candidate),
      }),
    },
  )

/**
 * The schema of the candidate of a group: a URL, `sandbox`, or the long form. What it leaves out is that of its group's
 * upstream.
 */
const candidateSchema = candidateForm(policyShape)

/** The schema of the candidate for editors, which shows the built-in values. */
const describedCandidateSchema = candidateForm({ ...inheritedShape, ...policies.shape })

type ParsedCandidate = z.output<typeof candidateSchema>

declare module '../../../core/config/config.ts' {
  interface ParsedUpstream {
    readonly candidate: ParsedCandidate | null
  }
  interface UpstreamConfig {
    readonly candidate: CandidateConfig | null
  }
}

export interface CandidateConfig extends Omit<DeepReadonly<ParsedCandidate>, keyof UpstreamConfig> {
  /**
   * Where its requests go, and its policies: what the candidate states, and else its group's. What features add to a
   * group is null: it stands above the two sides.
   */
  readonly upstream: UpstreamConfig
  /**
   * The digest of what the candidate has other than its group, without its certificates and keys: they are renewed by
   * themselves. Whether it states or inherits what both have makes no difference.
   */
  readonly digest: string
}

export type CandidateShadowConfig = NonNullable<CandidateConfig['shadow']>

export type CandidateGuardConfig = NonNullable<CandidateConfig['guard']>

export const upstreamKeys: readonly UpstreamKey[] = [
  {
    key: 'candidate',
    schema: optionalKey(candidateSchema),
    described: optionalKey(describedCandidateSchema),
    isUpstream: true,
    /** Says `none` for what the group has under `tls` and its candidate has not: left out, it would be inherited. */
    render: (schema, value, group) => {
      const rendered = renderValue(schema, value)
      if (rendered === undefined) return undefined
      const { tls } = Object(value).upstream
      const missing = Object.keys(Object(group.tls)).filter((key) => tls[key] === null)
      return {
        ...Object(rendered),
        tls: { ...Object(rendered).tls, ...Object.fromEntries(missing.map((key) => [key, 'none'])) },
      }
    },
  },
]

export const resolveUpstream: ResolveUpstream = ({ candidate }, _, own) => ({
  candidate: candidate && resolveCandidate(candidate, own),
})

/** Merges a candidate with the upstream of its group, as a group is merged with the defaults. */
const resolveCandidate = (given: ParsedCandidate, inherited: UpstreamConfig): CandidateConfig => {
  const { share, steps, guard, shadow, clients, fallback, expose, ...stated } = given
  const trial = { share, steps, guard, shadow, clients, fallback, expose }
  const upstream = resolveSide<UpstreamConfig>(stated, inherited)
  const differing = omitEqual(withoutCertificates(upstream), withoutCertificates(inherited))
  return { ...trial, digest: hashValue({ ...trial, ...differing, endpoints: upstream.endpoints }), upstream }
}

/** Certificates and keys are renewed by themselves. */
const withoutCertificates = (upstream: UpstreamConfig) => ({
  ...upstream,
  tls: { ...upstream.tls, ca: null, certificate: null, key: null },
})

/** Keeps of a map, at every depth, the keys whose values are other than in another one. */
const omitEqual = (map: object, other: object): object =>
  Object.fromEntries(
    Object.entries(map).flatMap(([key, value]) => {
      const another = (other as Readonly<Record<string, unknown>>)[key]
      if (isDeepStrictEqual(value, another)) return []
      return [[key, isPlainObject(value) && isPlainObject(another) ? omitEqual(value, another) : value]]
    }),
  )
