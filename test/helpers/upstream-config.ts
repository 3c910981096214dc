import type { UpstreamConfig } from '../../src/core/config/config.ts'

const none = { set: [], remove: [] }

/** The policies of features. */
const noPolicies = { concurrency: null, retry: null, candidate: null }

/**
 * Makes the configuration of an upstream: one endpoint at `origin` (or those of `more`), every policy off that can be,
 * limits short.
 */
export const upstreamConfig = (
  origin: string | readonly string[],
  more: Partial<UpstreamConfig> = {},
): UpstreamConfig => ({
  endpoints: [origin].flat().map((each) => ({ origin: each, pathPrefix: '', weight: 100, drain: false })),
  host: 'endpoint',
  request: none,
  response: none,
  timeouts: { connect: 2000, headers: 5000, body: 5000 },
  ...{ maxConnections: 8, maxPending: 2048, keepAlive: 3000, resolve: 30_000 },
  tls: {
    ca: null,
    certificate: null,
    key: null,
    serverName: null,
    minVersion: 'TLSv1.2',
    verify: true,
    insecure: false,
  },
  balance: 'p2c',
  ...{ slowStart: null, healthCheck: null, outlier: null, circuitBreaker: null },
  ...noPolicies,
  ...more,
})
