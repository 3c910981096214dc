import type { Operation } from '../catalog.ts'
import type {
  AddressLimitConfig,
  AuditConfig,
  Config,
  OperationAuthConfig,
  RetryConfig,
  TracingConfig,
  UpstreamConfig,
} from '../config/config.ts'
import { compose, type Handle, type Layer } from '../exchange.ts'
import { withTwins } from '../fields.ts'
import { audit as auditLayer } from '../layers/audit/audit.ts'
import { auth, identityField } from '../layers/auth/auth.ts'
import { cache } from '../layers/cache/cache.ts'
import { invalidate } from '../layers/cache/invalidate.ts'
import { bodyLimit, clientConcurrency, concurrency, deadline } from '../layers/limits.ts'
import { loadShedding } from '../layers/load-shedding/load-shedding.ts'
import { inFlight, serverTiming, tracing } from '../layers/observing.ts'
import { addressLimit, clientLimit } from '../layers/rate-limit.ts'
import { refuse } from '../layers/refuse.ts'
import { RetryBudget, retry } from '../layers/retry/retry.ts'
import type { Auditor } from '../observe/audit/line.ts'
import type { Meter } from '../observe/metrics/meter.ts'
import { nobody, type Tracing } from '../observe/tracing/tracing.ts'
import type { Limiter } from '../shared/limiter/bucket.ts'
import { MemoryLimiter } from '../shared/limiter/memory.ts'
import { formatDuration, formatPercent, formatRate, formatSize } from '../units.ts'
import type { HeldCaches } from './caches.ts'
import type { ClientLimits } from './client-limits.ts'
import type { Guard } from './guard.ts'
import type { Override } from './overrides.ts'
import type { Pressure } from './pressure.ts'
import { limitOf } from './rate-limits.ts'

/** Is a feature in its place around an upstream, for composing it and for telling people of it. */
export interface StackRow {
  readonly name: string
  /** The key that decides it: as an operation's own section of the file spells it, or else the whole path, `upstreams.risk.retry`: it has a dot. */
  readonly key: string
  /** What that key says, as the file would write it. */
  readonly setting: string
  /** Null: it is off. */
  readonly layer: Layer | null
}

/** What the layers of one operation are made from. */
export interface Stacked {
  readonly operation: Operation
  readonly config: Config
  /** The retries of all that is sent to its group; null: they are off, or nothing will be sent. */
  readonly budget: Pick<RetryBudget, 'requested' | 'take'> | null
  /** What counts by address; null: that is off, or nothing will be counted. */
  readonly addressLimiter: Limiter | null
  /** Makes the ways to prove who calls. */
  readonly guard: Guard
  /** What bounds each client. */
  readonly clientLimits: ClientLimits
  /** What the process has to do. */
  readonly pressure: Pressure
  /** Null: tracing is off, or nothing will be followed. */
  readonly traces: Tracing | null
  readonly meter: Pick<Meter, 'operations'>
  readonly auditor: Auditor
  readonly caches: HeldCaches
}

/** Lists the layers around an upstream, the outermost first. The order of this list is the behaviour. */
export const stackRows = (stacked: Stacked): readonly StackRow[] => {
  const { operation, config, budget, addressLimiter, guard, clientLimits, traces, auditor, caches } = stacked
  const { limits, audit, tracing: traced, metrics } = config
  const { loop, counts } = stacked.pressure
  const own = config.operations[operation.id]
  const upstream = config.upstreams[operation.group]
  return [
    row('tracing', 'tracing.otlp', traced?.otlp ? traced : null, formatOtlp, () => tracing(traces ?? nobody)),
    row('server-timing', 'tracing.serverTiming', traced?.serverTiming || null, String, () => serverTiming),
    row(
      'metrics',
      'metrics',
      metrics,
      ({ clients }) => (clients ? 'clients: true' : 'true'),
      () => inFlight(stacked.meter.operations[operation.id]),
    ),
    row('audit', 'audit.onFailure', audit, formatAudit, (each) => auditLayer(each, auditor)),
    row('load-shedding', 'limits.eventLoopDelay', limits.eventLoopDelay, formatDuration, () => loadShedding(loop)),
    row('concurrency', 'limits.concurrency', limits.concurrency, String, (max) =>
      concurrency(max, counts.all, 'limits-concurrency'),
    ),
    row('upstream-concurrency', `upstreams.${operation.group}.concurrency`, upstream.concurrency, String, (max) =>
      concurrency(max, counts.upstreams[operation.group], 'upstream-concurrency'),
    ),
    row('operation-concurrency', 'concurrency', own.concurrency, String, (max) =>
      concurrency(max, counts.operations[operation.id], 'operation-concurrency'),
    ),
    row('address-limit', 'limits.address', limits.address, formatAddressLimit, (each) =>
      addressLimit(addressLimiter ?? new MemoryLimiter(limitOf(each)), each.ipv6Prefix),
    ),
    row('identity-field', 'auth.identityField', config.auth?.identityField ?? null, String, identityField),
    row('auth', 'auth', own.auth, formatAuth, (asked) => auth(guard.terms(asked))),
    row('client-concurrency', 'clients.concurrency', someOf(own.auth, clientLimits.bounded), formatSome, () =>
      clientConcurrency(clientLimits.boundOf, counts.clients),
    ),
    row('client-limit', 'clients.rate', someOf(own.auth, clientLimits.rated), formatSome, () =>
      clientLimit(clientLimits.limiterOf),
    ),
    row('body-limit', 'maxBody', own.maxBody, formatSize, bodyLimit),
    operation.method === 'GET'
      ? row(
          'cache',
          'cache',
          own.cache,
          () => 'on',
          (rules) => {
            const part = caches.of(operation.id)
            return (
              part &&
              cache(
                { ...rules, credentials: config.cache.credentials },
                part,
                caches.notices,
                caches.secondOf(operation.id),
              )
            )
          },
        )
      : row(
          'cache-invalidation',
          'cache',
          caches.isUsed || null,
          () => 'of what its answers name',
          () => invalidate(config.listen, caches.invalidate),
        ),
    row('deadline', 'deadline', own.deadline, formatDuration, deadline),
    row('retry', `upstreams.${operation.group}.retry`, upstream.retry, formatRetry, (each) =>
      retry(each, budget ?? new RetryBudget(each.budget), {
        safe: operation.method === 'GET',
        keyed: own.idempotent && keepsKey(upstream.request),
      }),
    ),
  ]
}

/** Composes what stands behind one operation; what is off is not in it. `override` is an operator's word of this hour, before the file's. */
export const stack = (stacked: Stacked, send: Handle, override: Override | null = null): Handle =>
  (override ?? stacked.config.operations[stacked.operation.id]).state === 'refuse'
    ? refuse(override?.until ?? null)
    : compose(
        stackRows(stacked).map(({ layer }) => layer),
        send,
      )

const row = <T>(
  name: string,
  key: string,
  value: T | null,
  format: (value: T) => string,
  make: (value: T) => Layer | null,
): StackRow =>
  value === null
    ? { name, key, setting: 'none', layer: null }
    : { name, key, setting: format(value), layer: make(value) }

const formatOtlp = ({ otlp, sample }: TracingConfig): string => `${otlp}, sample: ${formatPercent(sample)}`

const formatAudit = ({ onFailure, digests }: AuditConfig): string => `onFailure: ${onFailure}, digests: ${digests}`

const formatAddressLimit = ({ rate, burst }: AddressLimitConfig): string => `rate: ${formatRate(rate)}, burst: ${burst}`

const formatAuth = ({ methods, scopes, claims }: OperationAuthConfig): string => {
  const said = Object.entries(claims).map(([name, value]) => `${name}: ${value}`)
  const required = [...scopes.map((scope) => `scope ${scope}`), ...said]
  return methods.join(', ') + (required.length === 0 ? '' : ` with ${required.join(', ')}`)
}

/** Nobody is bounded where nobody is asked who it is, or none of them has a bound. */
const someOf = (auth: OperationAuthConfig | null, clients: number): number | null =>
  auth === null || clients === 0 ? null : clients

const formatSome = (clients: number): string => (clients === 1 ? 'of 1 client' : `of ${clients} clients`)

const formatRetry = ({ attempts }: RetryConfig): string => `attempts: ${attempts}`

/** Tells whether the client's key reaches the upstream: one that is taken out on the way, or replaced, keeps nothing from being done twice. */
const keepsKey = ({ set, remove }: UpstreamConfig['request']): boolean =>
  [...remove, ...set.map(({ name }) => name)].every((name) => withTwins(name) !== 'idempotency-key')
