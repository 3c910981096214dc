import { formatDuration, formatPercent, formatRate } from '../units.ts'
import type { UpstreamConfig } from './config.ts'
import type { LimitsConfig, RedisConfig } from './limits-config.ts'
import type { Statuses } from './schema/statuses.ts'
import { type Effective, literal, Secret } from './shown.ts'

/** Writes how an upstream is spoken to and what is done when it fails, in the spelling of the file; what is off is `none`. */
export const policies = (config: UpstreamConfig): { readonly [key: string]: Effective } => ({
  tls: tls(config.tls),
  balance: config.balance,
  slowStart: config.slowStartMs === null ? 'none' : formatDuration(config.slowStartMs),
  healthCheck: healthCheck(config.healthCheck),
  outlier: outlier(config.outlier),
  circuitBreaker: circuitBreaker(config.circuitBreaker),
  retry: retry(config.retry),
})

/** Leaves out what is not set. `verify: false` is written with the key that it takes. */
const tls = ({ ca, client, serverName, minVersion, verify }: UpstreamConfig['tls']): Effective => ({
  ...(ca === null ? {} : { ca: new Secret(ca) }),
  ...(client === null ? {} : { certificate: new Secret(client.certificate), key: new Secret(client.key) }),
  ...(serverName === null ? {} : { serverName }),
  minVersion,
  verify,
  ...(verify ? {} : { insecure: true }),
})

const healthCheck = (config: UpstreamConfig['healthCheck']): Effective =>
  config === null
    ? 'none'
    : {
        path: literal(config.path),
        interval: formatDuration(config.intervalMs),
        timeout: formatDuration(config.timeoutMs),
        expect: statuses(config.expect),
        healthyAfter: config.healthyAfter,
        unhealthyAfter: config.unhealthyAfter,
      }

/** A single status is a number in the file. */
const statuses = ({ from, to }: Statuses): Effective => (from === to ? from : `${from}-${to}`)

const outlier = (config: UpstreamConfig['outlier']): Effective =>
  config === null
    ? 'none'
    : {
        consecutiveFailures: config.consecutiveFailures ?? 'none',
        failureRate: config.failureRate === null ? 'none' : formatPercent(config.failureRate),
        ejectionTime: formatDuration(config.ejectionTimeMs),
        maxEjected: formatPercent(config.maxEjected),
      }

const circuitBreaker = (config: UpstreamConfig['circuitBreaker']): Effective =>
  config === null
    ? 'none'
    : {
        failureRate: formatPercent(config.failureRate),
        minRequests: config.minRequests,
        window: formatDuration(config.windowMs),
        openFor: formatDuration(config.openForMs),
        probes: config.probes,
      }

const retry = (config: UpstreamConfig['retry']): Effective =>
  config === null
    ? 'none'
    : {
        attempts: config.attempts,
        on: [...config.on.kinds, ...config.on.statuses],
        backoff: { base: formatDuration(config.backoff.baseMs), max: formatDuration(config.backoff.maxMs) },
        budget: { share: formatPercent(config.budget.share), floor: config.budget.floorPerSecond },
      }

/** Writes how often clients may ask, and who counts. */
export const rateLimits = ({ address, redis }: LimitsConfig) => ({
  address: address === null ? 'none' : { ...address, rate: formatRate(address.rate) },
  redis: redisAt(redis),
})

/** Writes where a Redis is. The URL may hold a password. */
export const redisAt = (redis: RedisConfig | null): Effective =>
  redis === null
    ? 'none'
    : { url: new Secret(redis.url), timeout: formatDuration(redis.timeoutMs), prefix: redis.prefix }
