import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import type { DeepReadonly, UpstreamConfig } from '../../../core/config/config.ts'
import type { ResolveUpstream } from '../../../core/config/config-part.ts'
import { resolveSide } from '../../../core/config/load/resolve-levels.ts'
import { annotate, optionalKey, renderMap, renderValue } from '../../../core/config/schema/annotations.ts'
import { requestFieldKind } from '../../../core/config/schema/header-fields.ts'
import { optionalPolicy, partialShape } from '../../../core/config/schema/inheritance.ts'
import { scalar } from '../../../core/config/schema/scalar.ts'
import { InvalidScalar, refineKind, textParser } from '../../../core/config/schema/scalar-kind.ts'
import {
  boolean,
  clientName,
  day,
  duration,
  integer,
  list,
  map,
  multiple,
  orNone,
  percent,
  reject,
} from '../../../core/config/schema/scalar-types.ts'
import { defaultsSchema, operationDefaults } from '../../../core/config/sections/upstream-defaults.ts'
import { endpointUrlSchema, targetShape, type UpstreamKey } from '../../../core/config/sections/upstreams.ts'
import { hashValue } from '../../../core/config/transfer-parts.ts'
import { isPlainObject } from '../../../core/lib/plain-object.ts'
import { candidateShadowSchema } from './candidate-shadow.ts'

export const leastShare = 0.0001

const shares = z
  .array(percent('The share of a step', { min: leastShare }))
  .min(1)
  .max(20)
  .check((context) => {
    const at = context.value.findIndex((share, index) => share <= (context.value[index - 1] ?? 0))
    const hint = 'write them in order: [1%, 5%, 25%, 100%]'
    if (at >= 0) reject(context, 'not rising', 'each more than the one before', hint, [at])
  })
  .meta({ description: 'The shares, one after the other' })

// RFC 3339 §5.6, with seconds and a zone: without a zone, the time depends on the machine.
const timePattern = '^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,3})?([Zz]|[+-]\\d{2}:\\d{2})$'

/** Parsed to milliseconds since the epoch. */
const time = (description: string) =>
  scalar<number>(description, {
    expected: 'a time such as 2026-11-23T22:00:00Z',
    parse: textParser((value) => {
      const parsed = new RegExp(timePattern).test(value) ? Date.parse(value) : Number.NaN
      if (Number.isNaN(parsed))
        return new InvalidScalar('not a time', 'write the date, T, the time with seconds, and Z or the offset')
      // Date.parse reads 30 February as 2 March.
      const day = value.slice(0, 'YYYY-MM-DD'.length)
      return new Date(day).toISOString().startsWith(day)
        ? parsed
        : new InvalidScalar('no such day', 'write the last day of the month, or one of the next')
    }),
    render: (value) => new Date(value).toISOString(),
    json: { type: 'string', pattern: timePattern },
  })

const stepsSchema = optionalPolicy(
  map('Shares that follow each other by themselves, until one is taken back', {
    shares,
    every: duration('How long each share holds before the next', { min: 1000, max: 7 * day }),
    startedAt: optionalKey(
      time('When the first step began or begins; without it, when the gateway first reads the steps'),
    ),
  }),
  '{ shares: [1%, 5%, 25%, 100%], every: 15m }',
)

// The keys that features add to a group hold for both sides, as `deadline` and `maxBody` do.
const policies = defaultsSchema.omit(operationDefaults)

const { endpoints, ...inheritedTarget } = targetShape

const inheritedShape = partialShape(inheritedTarget)

const policyShape = { ...inheritedShape, ...partialShape(policies.shape) }

const latencyText = 'How many times the 95th percentile of the primary, of the time until the head'

const candidateGuardSchema = optionalPolicy(
  map('When the candidate is taken back by itself', {
    errors: multiple('How many times the share of requests that fail at the primary').prefault('2x'),
    latency: multiple(latencyText, { min: 1.1 }).prefault('1.5x'),
    minRequests: integer('Fewest requests of the candidate to judge by', { min: 10, max: 1_000_000 }).prefault(50),
    window: duration('How long a request counts', { min: 1000, max: 600_000 }).prefault('1m'),
  }),
  '{ errors: 2x, latency: 1.5x }',
)

const exposedField = 'X-Upstream-Side'

// They have a meaning for clients or caches, or are set by the gateway.
const responseFieldsWithMeaning = [
  ...['accept-ranges', 'age', 'allow', 'cache-control', 'cache-status', 'content-encoding', 'content-language'],
  ...['content-location', 'content-range', 'content-type', 'date', 'etag', 'expires', 'last-modified', 'link'],
  ...['location', 'ratelimit', 'ratelimit-policy', 'retry-after', 'server-timing', 'set-cookie', 'vary'],
  ...['www-authenticate', 'x-fapi-interaction-id'],
]

export const exposeSchema = scalar(
  'The response field that names the side, or none',
  orNone(
    refineKind(requestFieldKind(exposedField), (name) =>
      responseFieldsWithMeaning.includes(name.toLowerCase())
        ? new InvalidScalar(`${name} has a meaning of its own`, `write another, such as ${exposedField}`)
        : name,
    ),
  ),
).prefault('none')

const fallbackText =
  'Whether the upstream of the group serves requests that fail here, where another attempt is allowed'

const ownForm = z.strictObject({
  share: percent('Part of the clients that it gets; each stays when the share grows').prefault('0%'),
  steps: stepsSchema.prefault('none'),
  guard: candidateGuardSchema.prefault({}),
  shadow: candidateShadowSchema.prefault('none'),
  clients: list('Clients that it gets, whatever the share is', clientName('The name of a client, as clients has it'), {
    max: 10_000,
  }).prefault([]),
  fallback: boolean(fallbackText).prefault(true),
  expose: exposeSchema,
})

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
        ...renderMap(z.strictObject({ ...targetShape, ...policies.shape }), Object(candidate).upstream),
        ...renderMap(ownForm, candidate),
      }),
    },
  )

const candidateSchema = candidateForm(policyShape)

/** For editors: with the built-in defaults. */
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
  /** Merged with the group's. Keys that features add to a group are null: they hold for both sides. */
  readonly upstream: UpstreamConfig
  /** The hash of the candidate's differences from its group, without certificates and keys. */
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
    /** Renders `none` for each `tls` key that only the group has: omitted keys would be inherited. */
    render: (schema, value, group) => {
      const rendered = renderValue(schema, value)
      if (rendered === undefined) return undefined
      const { tls } = Object(value).upstream
      const missing = Object.keys(Object(group.tls)).filter((key) => tls[key] === null)
      const none = Object.fromEntries(missing.map((key) => [key, 'none']))
      return { ...Object(rendered), tls: { ...Object(rendered).tls, ...none } }
    },
  },
]

export const resolveUpstream: ResolveUpstream = ({ candidate }, _, inherited) => {
  if (candidate === null) return { candidate }
  const { share, steps, guard, shadow, clients, fallback, expose, ...stated } = candidate
  const trial = { share, steps, guard, shadow, clients, fallback, expose }
  const upstream = resolveSide<UpstreamConfig>(stated, inherited)
  const differing = omitEqual(withoutCertificates(upstream), withoutCertificates(inherited))
  const digest = hashValue({ ...trial, ...differing, endpoints: upstream.endpoints })
  return { candidate: { ...trial, digest, upstream } }
}

/** Certificates and keys are renewed without an edit. */
const withoutCertificates = (upstream: UpstreamConfig) => ({
  ...upstream,
  tls: { ...upstream.tls, ca: null, certificate: null, key: null },
})

const omitEqual = (map: object, other: object): object =>
  Object.fromEntries(
    Object.entries(map).flatMap(([key, value]) => {
      const another = (other as Readonly<Record<string, unknown>>)[key]
      if (isDeepStrictEqual(value, another)) return []
      return [[key, isPlainObject(value) && isPlainObject(another) ? omitEqual(value, another) : value]]
    }),
  )
