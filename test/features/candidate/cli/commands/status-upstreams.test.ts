/** What `status` shows of failing endpoints, and of an edit that waits for its endpoints. */
import { expect, test } from 'vitest'
import { createShadowCounts } from '../../../../../src/features/candidate/layers/shadow-copies.ts'
import {
  configProblem,
  endpointStatusWith,
  healthyStatus,
  runStatus,
  upstreamStatusWith,
} from '../../../../core/cli/status-fixtures.ts'

// By the gateway's clock it is five past two.
const since = '2026-11-21T02:04:11.250Z'
const until = '2026-11-21T02:20:00.000Z'

const long = 'since 2026-11-21T02:04:11Z, 48s ago'
const start = 'since 2026-11-21T00:05:00Z'
const left = 'until 2026-11-21T02:20:00Z, 15m left'
const unproved = '9 failures in a row, the last: it responded with 503'
const probe = (ok: boolean, reason: string | null = null) => ({ lastProbe: { at: since, ok, latencyMs: 2, reason } })

test.each([
  ['with nothing to say', {}, 'up'],
  ['since nothing was sent there', { requests: 0, lastSuccess: null }, 'up, not tried yet'],
  ['by its probes alone', { requests: 0, ...probe(true) }, 'up'],
  ['though some failed', { requests: 340, failures: 12 }, `up, 12 of 340 requests failed ${start}, 2h ago`],
  ['though its last probe failed', probe(false, 'timed out'), 'up, last probe failed: timed out'],
  ['and its last probe went well', probe(true), 'up'],
  ['down', { state: 'down', since, reason: 'connection refused' }, `DOWN ${long}: connection refused`],
  [
    'ejected',
    { state: 'ejected', since, reason: '5 failures in a row', ejectedForSeconds: 9.2 },
    `EJECTED ${long}: 5 failures in a row; tried again in 10s`,
  ],
  ['failing', { state: 'failing', since, reason: unproved }, `FAILING ${long}: ${unproved}`],
  ['drained by the file', { state: 'draining' }, 'drained by the file: nothing new'],
  ['drained by an operator', { state: 'draining', drainUntil: until }, `drained by an operator ${left}`],
  ['without a share', { state: 'draining', weight: 0 }, 'weight 0: nothing new'],
  ['ready by an operator, against the file', { readyUntil: until }, `up by an operator ${left}`],
  ['in a state of a later version', { state: 'resting', reason: 'it is late' }, 'resting: it is late'],
])('an endpoint in words: %s', async (_what, more, text) => {
  const upstreams = { risk: upstreamStatusWith(endpointStatusWith('http://a', more)) }
  const { out } = await runStatus({ ...healthyStatus, upstreams })

  expect(/^risk +http:\/\/a +\d+ +\d+ +(.*)$/m.exec(out)?.[1]).toBe(text)
})

test('below the endpoints of a group stands its circuit breaker and retry budget', async () => {
  const risk = upstreamStatusWith(endpointStatusWith('http://a'), endpointStatusWith('http://b'))
  const { out } = await runStatus({
    ...healthyStatus,
    upstreams: {
      risk: { ...risk, breaker: { state: 'open', since, nextTry: '2026-11-21T02:05:03Z' }, retryBudget: { left: 0 } },
      market: { ...risk, breaker: { state: 'half-open', since }, retryBudget: { left: 13 } },
      leads: { ...upstreamStatusWith(), breaker: { state: 'closed', since }, retryBudget: { left: 1.9 } },
    },
  })

  expect(out).toContain(`group   endpoint         weight  in flight  state
risk    http://a         100     0          up
        http://b         100     0          up
        circuit breaker                     OPEN since 2026-11-21T02:04:11Z, 48s ago: nothing is sent, tried again at 2026-11-21T02:05:03Z, 3s left
        retry budget                        USED UP: nothing is retried
market  http://a         100     0          up
        http://b         100     0          up
        circuit breaker                     HALF-OPEN since 2026-11-21T02:04:11Z, 48s ago: a few are sent, as a test
        retry budget                        13 retries left
leads   circuit breaker                     closed
        retry budget                        1 retry left
`)
})

test('the candidate of a group stands below it, with its own breaker', async () => {
  const risk = upstreamStatusWith(endpointStatusWith('http://a'))
  const { inFlight, balance, endpoints } = upstreamStatusWith(
    endpointStatusWith('http://b', { state: 'down', since, reason: 'it hangs' }),
  )
  const breaker = { state: 'open', since, where: null, outageSince: null, reason: null, nextTry: null } as const
  const counts = createShadowCounts()
  const shadow = {
    ...{ sent: 1204, underWay: 3, pairs: 1190, repeated: 0 },
    outcomes: { ...counts.outcomes, '2xx': 1200, failed: 4 },
    dropped: { ...counts.dropped, full: 30, 'body-too-large': 1 },
  }
  const recent = { compared: 300, equal: 300 }
  const comparison = { compared: 1190, equal: 1189, recent, since: '2026-11-21T01:05:00.000Z' }
  const candidate = { inFlight, balance, endpoints, breaker, shadow, comparison }
  const upstreams = { risk: { ...risk, retryBudget: { left: 13 }, candidate }, leads: risk }
  const { out } = await runStatus({ ...healthyStatus, upstreams })

  expect(out).toContain(`group           endpoint         weight  in flight  state
risk            http://a         100     0          up
                retry budget                        13 retries left
risk candidate  http://b         100     0          DOWN since 2026-11-21T02:04:11Z, 48s ago: it hangs
                circuit breaker                     OPEN since 2026-11-21T02:04:11Z, 48s ago: nothing is sent
                copies                   3          1204 sent (1200 2xx, 4 failed), 31 not sent (30 full, 1 body-too-large) since the start
                compared                            1190, 99.9 % equal since 2026-11-21T01:05:00Z, 1h ago; in the last 5 minutes 300, all equal
leads           http://a         100     0          up
`)
})

test('a breaker that is open in one of several workers is shown as that', async () => {
  const risk = { ...upstreamStatusWith(), breaker: { state: 'open', since, where: 'in 1 of 2 workers' } }
  const { out } = await runStatus({ ...healthyStatus, upstreams: { risk } })

  expect(out).toMatch(/ {2}OPEN in 1 of 2 workers since 2026-11-21T02:04:11Z, 48s ago: nothing is sent there$/m)
})

test('an edit that is held back is shown with the time of the next try, and the reason last', async () => {
  const lastRejection = { at: since, problems: [configProblem] }
  const held = { fileDiffers: true, lastRejection, nextTry: '2026-11-21T02:05:07.000Z' }
  const { out } = await runStatus({ ...healthyStatus, config: { ...healthyStatus.config, ...held } })

  expect(out).toContain(
    'gateway.yaml: DIFFERS from the running configuration: held back, see below; next try 2026-11-21T02:05:07Z, 7s left\n',
  )
  expect(out).toMatch(
    /\nrejected 2026-11-21T02:04:11Z, 48s ago; the running configuration stays in effect\n[\s\S]*put http:[^\n]*\n$/,
  )
})

test('an edit that was held back at first is shown with the cause of its load', async () => {
  const { out } = await runStatus({ ...healthyStatus, config: { ...healthyStatus.config, loadedBy: 'preflight' } })

  expect(out).toContain(', by an edit of the file that was held back at first\n')
})

test('warnings of what runs stand at the end, before a rejection', async () => {
  const warning = { ...configProblem, path: 'upstreams.risk.tls.verify', message: 'any server is trusted' }

  const { out } = await runStatus({
    ...healthyStatus,
    warnings: [warning],
    config: { ...healthyStatus.config, lastRejection: { at: since, problems: [configProblem] } },
  })

  expect(out).toMatch(/\n\nwarning: \S+:12:9 upstreams\.risk\.tls\.verify: any server is trusted\n\nrejected /)
})
