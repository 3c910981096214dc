/**
 * Runs the cases on a clock of its own: the gateway's sending, balancing, outlier detection and retries, in front of
 * endpoints that only respond.
 */
import { join } from 'node:path'
import type { Endpoint } from '../../src/core/upstream/endpoints/endpoint.ts'
import type * as StandingModule from '../../src/core/upstream/health/endpoint-health.ts'
import type { ConnectionWaiter, ResponseHandler, UpstreamConnection } from '../../src/core/upstream/http1/connection.ts'
import type * as UpstreamModule from '../../src/core/upstream/upstream.ts'
import type { RetryConfig } from '../../src/features/retry/config.ts'
import type * as RetryModule from '../../src/features/retry/layer.ts'
import type * as RetryBudgetModule from '../../src/features/retry/runtime.ts'
import { seeded } from '../../test/core/upstream/balancing/fake-candidates.ts'
import type * as ExchangeHelper from '../../test/helpers/exchange.ts'
import { upstreamConfig } from '../../test/helpers/upstream-config.ts'
import { onSimulatedClock } from './simulated-clock.ts'
import { type CaseEndpoint, type Measure, percentileOf } from './traffic-shares-cases.ts'

// What the way there and back takes.
const wireMs = 0.3

const outlier = { consecutiveFailures: 5, failureRate: 0.5, ejectionTime: 10_000, maxEjected: 0.5 }

const retryConfig: RetryConfig = {
  attempts: 3,
  on: [502, 503, 504],
  backoff: { base: 25, max: 250 },
  budget: { share: 0.1, floor: 3 },
}

/** Measures with the source of a tree, for so many seconds of its own clock. */
export const openSimulatedCases = async (tree: string, seconds: number, seed = 1): Promise<Measure> => {
  const load = <T>(path: string): Promise<T> => import(join(tree, path))
  const { openUpstream } = await load<typeof UpstreamModule>('src/core/upstream/upstream.ts')
  const { EndpointHealth } = await load<typeof StandingModule>('src/core/upstream/health/endpoint-health.ts')
  const { retryLayer: retry } = await load<typeof RetryModule>('src/features/retry/layer.ts')
  const { createRetryBudget } = await load<typeof RetryBudgetModule>('src/features/retry/runtime.ts')
  const { fakeExchange } = await load<typeof ExchangeHelper>('test/helpers/exchange.ts')

  /** Makes an endpoint that responds, and counts; with no sockets. */
  const open = (name: string, { status, ms }: CaseEndpoint, counts: number[], i: number) => ({
    name,
    pathPrefix: '',
    health: new EndpointHealth(),
    inFlight: 0,
    pool: { isFull: false, rejects: () => null },
    configureHealthCheck: () => {},
    acquire(user: ConnectionWaiter): void {
      counts[i] = (counts[i] ?? 0) + 1
      const send = (handler: ResponseHandler): void =>
        void setTimeout(() => {
          handler.onHead(status, '', [])
          handler.onEnd()
        }, wireMs + ms)
      const connection = { send, hasWritten: true, isStale: false, abort: () => {}, pause: () => {}, resume: () => {} }
      user.onConnection(connection as unknown as UpstreamConnection)
    },
  })

  return ({ endpoints, ...policies }, lanes) =>
    onSimulatedClock(seeded(seed), async (at) => {
      const counts = endpoints.map(() => 0)
      const names = endpoints.map((_, i) => `http://e${i}.test`)
      const opened = endpoints.map((each, i) => open(names[i] as string, each, counts, i))
      const config = upstreamConfig(names, {
        endpoints: endpoints.map(({ weight }, i) => ({
          ...{ origin: names[i] as string, pathPrefix: '', weight, drain: false },
        })),
        slowStart: 10_000,
        outlier: policies.outlier ? outlier : null,
      })
      const { send, activate } = openUpstream(config, {
        open: ({ origin }) => opened[names.indexOf(origin)] as unknown as Endpoint,
        use: () => {},
        drainedBy: () => null,
        breaker: null,
        logEvent: () => {},
        onFailure: () => {},
      })
      activate()
      const layer = retry(retryConfig, createRetryBudget(retryConfig.budget), { safe: true, keyField: null })
      const handle = policies.retry ? layer(send) : send
      const times: number[] = []
      let failed = 0
      const lane = async (): Promise<void> => {
        while (at() < seconds * 1000) {
          const from = at()
          const { status, body } = await handle(fakeExchange())
          body.consume({ data: () => true, end: () => {}, fail: () => {} })
          times.push(at() - from)
          if (status >= 500) failed++
        }
      }
      await Promise.all(Array.from({ length: lanes }, lane))
      const all = counts.reduce((sum, count) => sum + count, 0)
      return { watched: counts[0] ?? 0, all, asked: times.length, failed, p99: percentileOf(times, 99) }
    })
}
