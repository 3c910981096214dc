import * as z from 'zod'
import type { DeepReadonly } from '../../core/config/config.ts'
import type { PolicyKey, ResolveUpstream } from '../../core/config/config-part.ts'
import type { ConfigRule } from '../../core/config/rules/rule.ts'
import { groupPolicyRule, type PolicyRule } from '../../core/config/rules/upstream-rules.ts'
import { optionalPolicy, type PartialLevel, resolvePolicy } from '../../core/config/schema/inheritance.ts'
import { scalar } from '../../core/config/schema/scalar.ts'
import { InvalidScalar } from '../../core/config/schema/scalar-kind.ts'
import { duration, integer, map, percent, reject } from '../../core/config/schema/scalar-types.ts'
import type { FailureKind } from '../../core/exchange/failures/failure-table.ts'
import { formatDuration } from '../../core/lib/text/units.ts'

const retriedFailures = [
  'connect-failed',
  'connect-timeout',
  'tls-failed',
  'reset-before-headers',
  'headers-timeout',
  'bad-response',
] as const satisfies readonly FailureKind[]

const retriedStatuses = [429, 500, 502, 503, 504] as const

type RetryCause = (typeof retriedFailures)[number] | (typeof retriedStatuses)[number]

const retryCauses: readonly RetryCause[] = [...retriedFailures, ...retriedStatuses]

const retryCause = scalar<RetryCause>('A failure, or a status of the upstream', {
  expected: `one of ${retryCauses.join(', ')}`,
  parse: (value, fromVariable) => {
    const known = retryCauses.find((each) => each === value || (fromVariable && String(each) === value))
    if (known !== undefined) return known
    if (typeof value === 'boolean') return new InvalidScalar('wrong type')
    const named = retryCauses.find((each) => String(each) === String(value).trim().toLowerCase())
    const plain = typeof named === 'number' ? `write ${named}, without quotes` : named && `write ${named}`
    return new InvalidScalar('not a cause of retries', plain)
  },
  json: { enum: retryCauses },
})

const retryOn = z
  .array(retryCause)
  .min(1)
  .check((context) => {
    for (const [index, each] of context.value.entries()) {
      if (context.value.indexOf(each) === index) continue
      reject(context, `${each} twice`, 'each once', 'remove one of the two', [index])
    }
  })
  .meta({ description: 'Failures and statuses that cause another attempt', uniqueItems: true })
  .transform((given): readonly RetryCause[] => retryCauses.filter((each) => given.includes(each)))

const backoffDuration = (description: string) => duration(description, { max: 60_000 })

const retrySchema = map('When and how often a failed attempt is repeated', {
  attempts: integer('Most attempts, the first included', { min: 2, max: 10 }).prefault(3),
  on: retryOn.prefault([
    'connect-failed',
    'connect-timeout',
    'tls-failed',
    'reset-before-headers',
    'bad-response',
    502,
    503,
    504,
  ]),
  backoff: map('The pauses between attempts, each a random part of its longest', {
    base: backoffDuration('Longest pause before the second attempt; doubled for each further one').prefault('25ms'),
    max: backoffDuration('Longest pause').prefault('250ms'),
  }).prefault({}),
  budget: map('How many retries are allowed, so that they never keep an upstream down', {
    share: percent('Retries are at most this share of the requests …').prefault('10%'),
    floor: integer('… plus this number per second', { min: 0, max: 1000 }).prefault(3),
  }).prefault({}),
})

type ParsedRetry = z.output<typeof retrySchema>

export type RetryConfig = DeepReadonly<ParsedRetry>

declare module '../../core/config/config.ts' {
  interface ParsedDefaults {
    readonly retry: ParsedRetry | null
  }
  interface ParsedUpstream {
    readonly retry?: PartialLevel<ParsedRetry> | null | undefined
  }
  interface UpstreamConfig {
    readonly retry: RetryConfig | null
  }
}

export const policyKeys: readonly PolicyKey[] = [
  { key: 'retry', after: 'circuitBreaker', schema: optionalPolicy(retrySchema, '{ }').prefault('none') },
]

export const resolveUpstream: ResolveUpstream = ({ retry }, defaults) => ({
  retry: resolvePolicy(retry, defaults.retry, retrySchema),
})

const backoff = retrySchema.shape.backoff.unwrap().shape

const backoffOrder: PolicyRule = ({ enabledAt, read }) => {
  if (enabledAt('retry') === null) return null
  const [base, max] = [read(backoff.base, 'retry', 'backoff', 'base'), read(backoff.max, 'retry', 'backoff', 'max')]
  if (base.value === undefined || max.value === undefined || base.value <= max.value) return null
  const message = 'the first pause is longer than the longest'
  return base.stated
    ? {
        path: base.path,
        message,
        expected: `at most ${formatDuration(max.value)}, which is retry.backoff.max`,
        found: formatDuration(base.value),
        hint: 'lower retry.backoff.base, or raise retry.backoff.max',
      }
    : {
        path: max.path,
        message,
        expected: `at least ${formatDuration(base.value)}, which is retry.backoff.base`,
        found: formatDuration(max.value),
        hint: 'raise retry.backoff.max, or lower retry.backoff.base',
      }
}

export const rules: readonly ConfigRule[] = [groupPolicyRule(backoffOrder)]
