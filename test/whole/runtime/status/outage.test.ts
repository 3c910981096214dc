import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { toRecentErrorView } from '../../../../src/core/admin/api/recent-errors.ts'
import { upstreamMetrics } from '../../../../src/core/admin/metrics/families/upstreams.ts'
import type { MetricInputs } from '../../../../src/core/admin/metrics/metric.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { Overrides } from '../../../../src/core/runtime/overrides.ts'
import { createProcessTelemetry } from '../../../../src/core/runtime/pipeline/observers.ts'
import { buildSnapshot } from '../../../../src/core/runtime/snapshot/data-plane.ts'
import { CurrentSnapshot } from '../../../../src/core/runtime/snapshot/snapshot.ts'
import { collectReport } from '../../../../src/core/runtime/status/report.ts'
import { type UpstreamStatus, upstreamsField } from '../../../../src/core/runtime/status/upstreams.ts'
import { connectFailedError } from '../../../../src/core/upstream/classify-error.ts'
import { Endpoint } from '../../../../src/core/upstream/endpoints/endpoint.ts'
import { EndpointRegistry } from '../../../../src/core/upstream/endpoints/endpoint-registry.ts'
import type {
  ConnectionWaiter,
  ResponseHandler,
  UpstreamConnection,
} from '../../../../src/core/upstream/http1/connection.ts'
import type { Group, OperationId } from '../../../../src/operations.ts'
import { findingInputs, renderFindings } from '../../../core/admin/findings/finding-inputs.ts'
import { exchangeRecord } from '../../../core/log/exchange-record.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { logInMemory, testConfig } from '../../../helpers/gateway.ts'
import { openTestParts } from '../../../helpers/parts.ts'

/** Outages by the fake clock: everything that an operator reads meanwhile names its cause, and when it began. */

beforeEach(() => vi.useFakeTimers({ now: Date.parse('2026-11-21T09:45:00Z') }))
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** What an endpoint does with a request, now or never. */
type Behavior = (waiter: ConnectionWaiter) => void

/** Fails before anything is sent. */
const unsent =
  (make: () => GatewayError): Behavior =>
  (waiter) =>
    waiter.onError(make())

const withCode = (code: string, message: string): Error => Object.assign(new Error(message), { code })

const refusesConnections = unsent(() =>
  connectFailedError(withCode('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1')),
)

const expiry = withCode('CERT_HAS_EXPIRED', 'certificate has expired')
const certificateExpired = unsent(
  () => new GatewayError('tls-failed', { reason: 'certificate-expired', cause: expiry }),
)

const hostNotFound = unsent(() => connectFailedError(withCode('ENOTFOUND', 'getaddrinfo ENOTFOUND risk.invalid')))

/** Creates a connection on which `send` decides the response. */
const fakeConnection = (send: (handler: ResponseHandler) => void): UpstreamConnection =>
  ({ send, hasWritten: true, isStale: false, pause() {}, resume() {}, abort() {} }) as unknown as UpstreamConnection

/** Accepts the request and stays silent, until it is aborted. */
const hangs: Behavior = (waiter) => void waiter.onConnection(fakeConnection(() => {}))

/** Responds with a status and no body. */
const respondsWith =
  (status: number): Behavior =>
  (waiter) =>
    void waiter.onConnection(
      fakeConnection((handler) => {
        handler.onHead(status, '', [])
        handler.onEnd()
      }),
    )

/** Makes every endpoint behave as `behaviorOf` says by its name, until the test has restored its mocks. */
const fakeEndpoints = (behaviorOf: (name: string) => Behavior): void =>
  void vi.spyOn(Endpoint.prototype, 'acquire').mockImplementation(function (this: Endpoint, waiter: ConnectionWaiter) {
    queueMicrotask(() => behaviorOf(this.name)(waiter))
  })

// One with retries, one without; both with a breaker, as in the first example of docs/upstreams.md.
const none = { get: () => null, all: [] }
const context = { overrides: { endpoints: none, shifts: none }, operatorKeys: () => null }
const [market, leads] = ['http://127.0.0.1:1', 'http://127.0.0.1:2']
const settings = {
  upstream: 'http://127.0.0.1:9',
  defaults: { circuitBreaker: {}, timeouts: { headers: '2s' } },
  upstreams: { market: { endpoints: [market], retry: {} }, leads: { endpoints: [leads] } },
}

/**
 * Builds a snapshot of these settings in front of endpoints that behave as `behaviorOf` says, and sends requests as
 * clients do.
 */
const start = (behaviorOf: (name: string) => Behavior, more: object = {}) => {
  fakeEndpoints(behaviorOf)
  const { log, lines } = logInMemory()
  const telemetry = createProcessTelemetry(log, 'gateway')
  const config = testConfig({ ...settings, ...more })
  const endpoints = new EndpointRegistry((level, event, fields) => log[level](fields, event))
  const shared = { endpoints, telemetry, parts: openTestParts() }
  const build = (previous: typeof snapshot | null) =>
    buildSnapshot({ config, overrides: new Overrides(), sandboxOrigin: null }, previous, shared)
  let snapshot: ReturnType<typeof buildSnapshot> = build(null)
  const send = async (id: OperationId): Promise<void> => {
    const exchange = fakeExchange({ operation: id })
    const [status, failure] = await snapshot.handlers[id](exchange).then(
      ({ status, body }) => {
        body.consume({ data: () => true, end: () => {}, fail: () => {} })
        return [status, null] as const
      },
      (error: unknown) => [null, GatewayError.from(error)] as const,
    )
    exchange.finish()
    const facts = {
      operation: id,
      endpoint: exchange.attempts.last?.endpoint ?? null,
      status: status ?? failure?.status ?? 0,
      failure,
      attempts: exchange.attempts.count,
      failedAttempts: exchange.attempts.failed ?? [],
    }
    for (const observer of snapshot.observers) observer.record(exchangeRecord(facts))
  }
  // The event-loop lag of the test itself does not matter here.
  const report = () => ({ ...collectReport(new CurrentSnapshot(snapshot)), runtimes: [] })
  return {
    lines,
    /** Sends requests to both groups for so long, one every quarter of a second. */
    async run(seconds: number): Promise<void> {
      for (let n = 0; n < seconds * 4; n++) {
        void send('market.insights')
        void send('leads.pipeline')
        await vi.advanceTimersByTimeAsync(250)
      }
    },
    reload: () => {
      snapshot = build(snapshot)
    },
    found: () => renderFindings({ ...findingInputs({ at: Date.now() }), config, report: report() }),
    status: (group: Group) => upstreamsField.show(report().upstreams, context)[group] as UpstreamStatus,
    tail: () => report().recentErrors.last.map((each) => toRecentErrorView(each, config).reason),
    failed: (group: Group, reason: string): number => {
      const metric = upstreamMetrics.upstream_failures_total
      const samples =
        metric?.read({ report: report(), requestMetrics: report().requestMetrics } as unknown as MetricInputs) ?? []
      const sample = samples.find(({ labels }) => labels.group === group && labels.reason === reason)
      return Number(sample?.value ?? Number.NaN)
    },
  }
}

/**
 * What went wrong; what names it in a finding, in a list, and in a line of the log; and the reason that it is counted
 * by.
 */
const silent = 'did not respond within timeouts.headers'
const hasExpired = 'CERT_HAS_EXPIRED'
const expired = 'shows an expired certificate'

const faults: readonly (readonly [string, Behavior, (url: string) => string, string, RegExp, string])[] = [
  ['is dead', refusesConnections, (url) => `ECONNREFUSED at ${url}`, 'ECONNREFUSED', /connect ECONNREFUSED/, 'refused'],
  [expired, certificateExpired, (url) => `${hasExpired} at ${url}`, hasExpired, /has expired/, 'certificate-expired'],
  ['has no name any more', hostNotFound, (url) => `ENOTFOUND at ${url}`, 'ENOTFOUND', /ENOTFOUND/, 'name-not-found'],
  ['hangs', hangs, (url) => `${url} ${silent} (2s)`, silent, /headers-timeout/, 'headers-timeout'],
]

test.each(faults)(
  'an endpoint that %s is named by everything for a minute, and the outage began with its first failure',
  async (_, fault, fact, words, logged, reason) => {
    let behavior = respondsWith(200)
    const lab = start(() => behavior)
    await lab.run(10)
    expect(lab.found()).toEqual([])
    const healthy = lab.lines.length

    behavior = fault
    await lab.run(5)
    const first = lab.lines.slice(healthy).find(({ status }) => typeof status === 'number' && status >= 500)
    let counted = { market: 0, leads: 0 }
    for (let second = 5; second < 60; second += 15) {
      const from = lab.lines.length
      await lab.run(15)

      const found = lab.found()
      expect(found).toMatchObject(
        ['leads', 'market'].map((group) => ({
          ...{ severity: 'critical', about: `upstreams.${group}` },
          cause: expect.stringMatching(new RegExp(`^no endpoint of ${group} serves since 09:45:1\\d; every `)),
        })),
      )
      for (const { cause } of found) expect(cause).toContain(`fails: ${fact(cause.includes('leads') ? leads : market)}`)
      for (const { since } of found)
        expect(Math.abs(Date.parse(since ?? '') - Number(first?.time))).toBeLessThanOrEqual(1000)
      for (const group of ['market', 'leads'] as const) {
        const { breaker, endpoints } = lab.status(group)
        expect(endpoints).toMatchObject([{ state: 'failing', reason: expect.stringContaining(words) }])
        expect(breaker?.reason).toContain(words)
        const count = lab.failed(group, reason)
        expect(count).toBeGreaterThan(counted[group])
        counted = { ...counted, [group]: count }
      }
      expect(lab.tail().filter((each) => !each.includes(words))).toEqual([])
      const unnamed = lab.lines
        .slice(from)
        .filter(
          ({ failure, cause, msg, state }) => !logged.test(`${failure} ${cause}`) && state !== 'closed' && msg !== '',
        )
      expect(unnamed).toEqual([])
    }

    behavior = respondsWith(200)
    await lab.run(80)
    expect(lab.found().filter(({ severity }) => severity !== 'notice')).toEqual([])
  },
)

describe('an outage', () => {
  test('goes on over a reload, and is as old as before', async () => {
    let behavior = respondsWith(200)
    const lab = start(() => behavior)
    await lab.run(2)
    behavior = refusesConnections
    await lab.run(20)
    const [before] = lab.found()

    lab.reload()

    expect(lab.found()[0]).toMatchObject({ severity: 'critical', since: before?.since })
    await lab.run(20)
    expect(lab.found()[0]).toMatchObject({ severity: 'critical', since: before?.since })
    expect(lab.status('market').endpoints).toMatchObject([{ state: 'failing' }])
  })

  test('of one of two endpoints is not their group’s: the one is named, and no request fails', async () => {
    const b = 'http://127.0.0.1:3'
    let behavior = respondsWith(200)
    const two = { endpoints: [market, b], retry: {} }
    const lab = start((name) => (name === b ? behavior : respondsWith(200)), { upstreams: { market: two } })
    await lab.run(5)
    expect(lab.found()).toEqual([])

    behavior = refusesConnections
    await lab.run(5)
    for (let n = 0; n < 3; n++) {
      await lab.run(15)
      const cause = expect.stringContaining(`${b} refuses connections (ECONNREFUSED)`)
      expect(lab.found()).toMatchObject([{ severity: 'warning', about: 'upstreams.market', cause }])
    }
    expect(lab.lines.filter(({ status }) => typeof status === 'number' && status >= 500)).toEqual([])
    expect(lab.failed('market', 'refused')).toBeGreaterThan(5)
  })

  test('that lets some requests through is reported by the breaker, and is critical in each of its states', async () => {
    let n = 0
    const lab = start(() => (n++ % 4 === 0 ? respondsWith(200) : refusesConnections))
    await lab.run(10)
    for (let second = 0; second < 30; second++) {
      await lab.run(1)
      const [first] = lab.found()
      if (lab.status('leads').breaker?.state !== 'closed')
        expect(first).toMatchObject({ severity: 'critical', cause: expect.stringContaining('ECONNREFUSED') })
    }
  })
})

describe('with one attempt after another', () => {
  test('a probe of the half-open breaker fails as it failed, and is not tried again', async () => {
    const lab = start(() => refusesConnections)
    await lab.run(30)

    const probes = lab.lines.filter(({ msg, attempts }) => msg === 'exchange' && Number(attempts) > 0)
    expect(new Set(probes.map(({ failure, reason }) => `${failure} ${reason}`))).toEqual(
      new Set(['connect-failed refused']),
    )
    expect(lab.lines.find(({ msg }) => msg === 'circuit breaker open')).toMatchObject({
      ...{ failure: 'connect-failed', reason: 'refused', cause: 'connect ECONNREFUSED 127.0.0.1:1' },
    })
    const sent = probes.reduce((sum, { attempts }) => sum + Number(attempts), 0)
    expect(lab.failed('market', 'refused') + lab.failed('leads', 'refused')).toBe(sent)
  })

  test('a status that was tried again is forwarded by the probe, not hidden behind the breaker', async () => {
    const lab = start(() => respondsWith(503))
    await lab.run(30)

    const statuses = lab.lines
      .filter(({ attempts }) => Number(attempts) > 0)
      .map(({ status, failure }) => `${status} ${failure}`)
    expect(new Set(statuses)).toEqual(new Set(['503 undefined']))
  })

  test('the failure of an attempt is there, though the deadline ended the next', async () => {
    let n = 0
    const lab = start((name) => (name === market && n++ % 2 === 0 ? refusesConnections : hangs), {
      defaults: { deadline: '500ms', retry: {} },
      upstreams: { market: { endpoints: [market] } },
    })
    await lab.run(2)

    expect(lab.lines.find(({ failure, attempts }) => failure === 'deadline-exceeded' && attempts === 2)).toMatchObject({
      failedAttempts: [{ endpoint: market, failure: 'connect-failed', reason: 'refused' }],
    })
    expect(lab.failed('market', 'refused')).toBeGreaterThan(0)
  })
})

test('an endpoint that fails and is drained drains, and nothing else is reported', async () => {
  const drained = { endpoints: [{ url: market, drain: true }, 'http://127.0.0.1:3'] }
  const lab = start(() => respondsWith(200), { upstreams: { market: drained } })
  await lab.run(5)

  expect(lab.status('market').endpoints.map(({ state }) => state)).toEqual(['draining', 'up'])
  expect(lab.found()).toEqual([])
})
