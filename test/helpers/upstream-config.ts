import type { UpstreamConfig } from '../../src/config/config.ts'

const none = { set: [], remove: [] }

/** Makes the configuration of an upstream: one endpoint at `origin` (or those of `more`), every policy off that can be, bounds short. */
export const upstreamConfig = (
  origin: string | readonly string[],
  more: Partial<UpstreamConfig> = {},
): UpstreamConfig => ({
  endpoints: [origin].flat().map((each) => ({ origin: each, pathPrefix: '', weight: 100, drain: false })),
  host: 'endpoint',
  request: none,
  response: none,
  connectTimeoutMs: 2000,
  headersTimeoutMs: 5000,
  bodyTimeoutMs: 5000,
  maxConnections: 8,
  maxPending: 1024,
  concurrency: null,
  keepAliveMs: 3000,
  resolveMs: 30_000,
  tls: { ca: null, client: null, serverName: null, minVersion: 'TLSv1.2', verify: true },
  balance: 'p2c',
  slowStartMs: null,
  healthCheck: null,
  outlier: null,
  circuitBreaker: null,
  retry: null,
  ...more,
})
