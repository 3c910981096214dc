/** A candidate that is worse than its primary is taken back by itself, beside everything else that acts on requests. */
import { expect } from 'vitest'
import { keyedClients, keyOf, sideUpstreams } from '../../../helpers/candidate.ts'
import { contractFile, sampleContract } from '../../../helpers/contract.ts'
import { withoutLateness } from '../../../helpers/findings.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { drill, test } from '../../../helpers/speed.ts'
import { answerings, askUntil, guardedSettings, openAnswering, readShift, runGuarded } from './guarded-candidates.ts'

// It takes thirty requests of the candidate: a second or two, or as long as a slow machine needs for them.
const windowMs = 20_000

const openSides = async (candidate: keyof typeof answerings) => ({
  primary: await openAnswering(answerings.well),
  candidate: { endpoints: [await openAnswering(answerings[candidate])] },
})

const isTakenBack = ({ lines }: LiveGateway): boolean => lines.some(({ msg }) => msg === 'shift taken back')

test('one that answers with 500 is taken back, and all clients are on the primary then', async () => {
  const { primary, candidate } = await openSides('with 500')
  const live = await bootLiveGateway(guardedSettings(primary, candidate, windowMs))

  await askUntil(live, () => isTakenBack(live))
  const until = performance.now() + 200
  const after = await askUntil(live, () => performance.now() > until)

  expect(after).toMatchObject({ failed: 0 })
  expect(await readShift(live)).toMatchObject({
    share: 0,
    cause: 'guard',
    stopped: true,
    reason: expect.stringMatching(/^100 % of \d+ requests to market.insights failed within 20s, and 0 % of \d+ at the/),
  })
  expect(withoutLateness((await fetchAdmin(`${live.admin}/status`)).body.findings)[0]).toMatchObject({
    severity: 'warning',
    about: 'upstreams.market.candidate',
    cause: expect.stringContaining('was taken back at'),
  })
})

drill('so is one whose failures cost clients nothing, because the primary serves what a retry repeats', async () => {
  const { primary, candidate } = await openSides('with 500')
  const retry = { attempts: 2, on: [500], backoff: { base: '1ms', max: '1ms' }, budget: { share: '100%', floor: 1000 } }

  const outcome = await runGuarded(guardedSettings(primary, candidate, windowMs, { retry }), windowMs)

  expect(outcome).toMatchObject({ takenBackAfterMs: expect.any(Number), failed: 0 })
})

test('and one where nobody listens, for which the primary stands in', async () => {
  const primary = await openAnswering(answerings.well)

  const outcome = await runGuarded(guardedSettings(primary, { endpoints: ['http://127.0.0.1:9'] }, windowMs), windowMs)

  expect(outcome).toMatchObject({ takenBackAfterMs: expect.any(Number), failed: 0 })
})

test('what an operator drains is none of its failures', async () => {
  const [primary, url] = [await openAnswering(answerings.well), await openAnswering(answerings.well)]
  const live = await bootLiveGateway(guardedSettings(primary, { endpoints: [url] }, windowMs))
  const body = JSON.stringify({ group: 'market', url, ttl: '1h' })
  const { status } = await fetchAdmin(`${live.admin}/endpoints/drain`, 'POST', { body })
  const until = performance.now() + 3000

  const outcome = await askUntil(live, () => isTakenBack(live) || performance.now() > until)

  expect([status, outcome.failed, isTakenBack(live)]).toEqual([200, 0, false])
  expect(outcome.requests).toBeGreaterThan(100)
})

drill('what an open breaker keeps from it are its failures, though the primary serves them', async () => {
  const { primary, candidate } = await openSides('with a reset')
  const circuitBreaker = { minRequests: 5, openFor: '1h' }
  const guard = { minRequests: 100, window: `${windowMs}ms` }
  const settings = guardedSettings(primary, { ...candidate, circuitBreaker, guard }, windowMs)

  const outcome = await runGuarded(settings, windowMs)

  expect(outcome.takenBackAfterMs).not.toBeNull()
  expect(outcome.failed).toBeLessThan(60) // what was under way when it opened
})

test('one whose answers break the contract is taken back where the contract is enforced, and stays where it is not', async () => {
  const get = { responses: { 200: { description: 'insights', content: { 'application/json': {} } } } }
  const { openapi, info } = sampleContract
  const file = contractFile({ openapi, info, paths: { '/market/insights': { get } } })
  const { primary, candidate } = await openSides('with HTML')
  const guarded = (ms: number, response: string) =>
    runGuarded({ ...guardedSettings(primary, candidate, ms), contract: { file, response } }, ms)

  const enforced = await guarded(windowMs, 'enforce')
  const reported = await guarded(2000, 'report')

  expect(enforced).toMatchObject({
    reason: expect.stringMatching(/^(9\d|100) % of \d+ requests to market.insights failed/),
  })
  expect(reported).toMatchObject({ takenBackAfterMs: null, failed: 0 })
})

test('an answer that breaks the contract is its failure also where a stored one stands in', async () => {
  const get = { responses: { 200: { description: 'insights', content: { 'application/json': {} } } } }
  const { openapi, info } = sampleContract
  const file = contractFile({ openapi, info, paths: { '/market/insights': { get } } })
  const primary = await openAnswering(answerings.well)
  let answered = 0
  const candidate = await openAnswering((_, response) => {
    const type = answered++ < 60 ? 'application/json' : 'text/html'
    const fields = { 'Content-Type': type, 'Cache-Control': 'public, max-age=60, stale-if-error=600', Age: '61' }
    response.writeHead(200, fields).end('{"grade":"A"}')
  })
  const settings = guardedSettings(primary, { endpoints: [candidate] }, windowMs)
  const operations = { 'market.insights': { cache: true } }

  const outcome = await runGuarded({ ...settings, operations, contract: { file, response: 'enforce' } }, windowMs)

  expect(outcome).toMatchObject({ takenBackAfterMs: expect.any(Number), failed: 0 })
})

drill('one of its endpoints that is ejected gets nothing, and is no reason', async () => {
  const { primary, candidate } = await openSides('with a reset')
  const endpoints = [await openAnswering(answerings.well), ...candidate.endpoints]
  const more = { outlier: { consecutiveFailures: 1, ejectionTime: '1h' }, guard: { minRequests: 1000, window: '2s' } }

  const outcome = await runGuarded(guardedSettings(primary, { endpoints, ...more }, 2000), 2000)

  expect(outcome).toMatchObject({ takenBackAfterMs: null })
  expect(outcome.failed).toBeGreaterThan(0)
})

test.each([
  ['market.insights', 'GET', { cache: true }],
  ['risk.asset-valuation', 'POST', { idempotency: true }],
] as const)('what was stored of %s is a request of no side', async (operation, method, settings) => {
  const banks = ['bank-0', 'bank-1', 'bank-2', 'bank-3', 'bank-4', 'bank-5']
  const { primary, candidate } = await sideUpstreams((_, response) =>
    response.writeHead(404, { 'Cache-Control': 'public, max-age=60' }).end(),
  )
  const [group, name] = operation.split('.') as [string, string]
  const guard = { minRequests: 10, window: '1m' }
  const live = await bootLiveGateway({
    ...keyedClients(...banks),
    upstreams: {
      [group]: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], clients: banks, guard } },
    },
    operations: { [operation]: settings },
  })
  const ask = async (bank: string): Promise<number> => {
    const headers = { ...Object.fromEntries([keyOf(bank)]), 'Idempotency-Key': 'the-same' }
    return (await fetch(`${live.url}/${group}/${name}`, { method, headers })).status
  }

  for (let round = 0; round < 20; round++) expect(await Promise.all(banks.map(ask))).toEqual(banks.map(() => 404))

  expect(candidate.begun()).toBeLessThanOrEqual(banks.length)
  expect(isTakenBack(live)).toBe(false)
})

test('it stays taken back over a reload of something else, and over a rollback to it', async () => {
  const { primary, candidate } = await openSides('with 500')
  const settings = (share: string, more: object = {}) => ({
    ...guardedSettings(primary, { ...candidate, share }, windowMs),
    ...more,
  })
  const live = await bootLiveGateway(settings('50%'))
  await askUntil(live, () => isTakenBack(live))
  const reload = async (next: ReturnType<typeof settings>): Promise<unknown> => {
    live.edit(next)
    await fetchAdmin(`${live.admin}/reload`, 'POST')
    return readShift(live)
  }

  expect(await reload(settings('50%', { log: { level: 'warn' } }))).toMatchObject({ share: 0, cause: 'guard' })
  expect(await reload(settings('10%'))).toMatchObject({ share: 0.1, cause: 'file' })
  await fetchAdmin(`${live.admin}/rollback`, 'POST')
  expect(await readShift(live)).toMatchObject({ share: 0, cause: 'guard', stopped: true })
})
