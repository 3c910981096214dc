import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import type { CandidateConfig } from '../../../../src/features/candidate/config/candidate.ts'
import { openShadow, type ShadowResources } from '../../../../src/features/candidate/layers/shadow.ts'
import { fakeExchange, untilAborted } from '../../../helpers/exchange.ts'

import {
  kib,
  openStreams,
  responding,
  sending,
  sendResponse,
  serve,
  settled,
  shadowing,
  streamed,
  take,
} from './shadowing.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('what bounds copies', () => {
  const pouring = (count: number, isWhole = false) => {
    const { body, push, response } = streamed()
    queueMicrotask(() => push(count))
    if (isWhole) void setImmediate().then(() => body.end())
    return response()
  }

  test.each<[string, Parameters<typeof sending>[0], number, number, number]>([
    ['that cannot be reached gets 5', () => Promise.reject(new GatewayError('connect-failed')), 2, 100, 5],
    ['that pours gets 5', () => pouring(102), 2, 100, 5],
    ['that responds with errors gets 8', () => sendResponse('broken', 500), 2, 100, 8],
    ['with a little more than the primary, and than is kept, gets 8', () => pouring(102, true), 99 * kib, 100, 8],
    ['whose body is as long as that of the primary gets 8', () => pouring(70), 70 * kib, 4, 8],
  ])('of eight copies, a candidate %s; after a reload one more', async (_, respond, length, maxBody, sent) => {
    const { layer, counts, copies } = shadowing({ maxBody: maxBody * kib, send: sending(respond) })
    const primary = responding('x'.repeat(length))

    for (let i = 0; i < 8; i++) await serve(layer, primary)
    const before = [counts.sent, counts.dropped.backoff]
    copies.applyBounds({ concurrency: 10, maxBytes: 1024 * kib })
    await serve(layer, primary)

    expect([before, counts.sent]).toEqual([[sent, 8 - sent], sent + 1])
  })

  test('responses that are not compared take no room', async () => {
    const { primary, candidate, text, held, counts } = await openStreams({ onPair: null })

    for (const { push } of [primary, candidate]) push(20)
    const before = held()
    for (const { body } of [primary, candidate]) body.end()
    await text
    await settled()

    expect([...before, ...held()]).toEqual([1, 0, 0, 0])
    expect(counts).toMatchObject({ sent: 1, pairs: 0, outcomes: { '2xx': 1 } })
  })

  test('copies beyond shadow.concurrency are dropped', async () => {
    const ends: (() => void)[] = []
    const send = sending(() => new Promise((resolve) => ends.push(() => resolve(sendResponse()))))
    const { layer, counts, held } = shadowing({ concurrency: 2, send })

    for (let i = 0; i < 5; i++) await serve(layer)
    const whenFull = [held()[0], counts.sent, counts.dropped.full]
    for (const end of ends) end()
    await settled()
    await serve(layer)

    expect(whenFull).toEqual([2, 2, 3])
    expect(counts).toMatchObject({ sent: 3, pairs: 2 })
  })

  test.each([
    ['is cut where it is four times as long as that of the primary', 'x'.repeat(20 * kib), 81],
    ['is cut at 64 KiB where the primary has little to say', 'short', 65],
    ['is cut where it is four times as long as one that is longer than is kept', 'x'.repeat(101 * kib), 405],
  ])('a response without an end %s', async (_, ofPrimary, chunks) => {
    const endless = streamed()
    const { layer, pairs } = shadowing({ send: sending(() => endless.response()) })

    await serve(layer, responding(ofPrimary))
    endless.push(chunks - 1)
    const early = endless.cancel.mock.calls.length
    endless.push(1)
    await settled()

    expect([early, endless.cancel.mock.calls.length]).toEqual([0, 1])
    const body = { length: chunks * kib, bytes: null, sha256: null }
    expect(pairs).toMatchObject([{ candidate: { status: 200, failure: null, body } }])
  })

  test('a response of the candidate that is far ahead waits for that of the primary', async () => {
    const bounds = { maxBody: 10_000 * kib, maxBytes: 100_000 * kib }
    const { primary: slow, candidate: fast, text, pairs } = await openStreams(bounds)

    fast.push(65)
    const [paused, resumed] = [fast.pause.mock.calls.length, fast.resume.mock.calls.length]
    slow.push(20)
    const resumedAfter = fast.resume.mock.calls.length
    slow.push(45)
    for (const { body } of [slow, fast]) body.end()
    await settled()

    expect(await text).toHaveLength(65 * kib)
    expect(paused).toBe(1)
    expect(resumedAfter).toBeGreaterThan(resumed)
    expect(pairs[0]?.candidate.body).toEqual(pairs[0]?.primary.body)
  })

  test("a response that is cut at the end of the primary's makes one pair", async () => {
    const { primary: slow, candidate: fast, text, pairs, counts, errors } = await openStreams()

    fast.push(65)
    slow.body.push(Buffer.from('short'))
    slow.body.end()
    await settled()

    expect(await text).toBe('short')
    expect([counts.pairs, errors]).toEqual([1, []])
    expect(pairs.map(({ primary }) => primary.body.bytes?.toString())).toEqual(['short'])
  })

  test('a candidate that takes too long is given up, and has failed', async () => {
    const { layer, pairs, copied, held } = shadowing({ timeout: 5000, send: untilAborted })

    await serve(layer)
    vi.advanceTimersByTime(4999)
    await settled()
    const before = held()[0]
    vi.advanceTimersByTime(1)
    await settled()

    expect([[before, held()[0]], copied[0]?.aborted?.kind]).toEqual([[1, 0], 'deadline-exceeded'])
    expect(pairs).toMatchObject([{ candidate: { status: null, failure: 'deadline-exceeded' } }])
  })

  test('a client that reads for hours costs a copy no more than its time', async () => {
    const { layer, counts, held } = shadowing({ timeout: 5000 })
    const { body, response } = streamed()

    const text = take(await layer(sending(() => response()))(fakeExchange()))
    body.push(Buffer.from('slow '))
    await settled()
    const before = held()
    vi.advanceTimersByTime(5000)
    const after = held()
    body.push(Buffer.from('end'))
    body.end()

    expect([before[0], ...after]).toEqual([1, 0, 0])
    expect(before[1]).toBeGreaterThan(0)
    expect(await text).toBe('slow end')
    expect(counts).toMatchObject({ sent: 1, pairs: 0, outcomes: { '2xx': 1 } })
  })

  test('a process that stops cuts copies, and begins no more', async () => {
    const { layer, counts, copies, copied, held } = shadowing({ send: untilAborted })
    await serve(layer)
    copies.stop()

    expect([await serve(layer), copied.map(({ aborted }) => aborted?.kind)]).toEqual(['ok', ['overloaded']])
    expect(held()).toEqual([0, 0])
    expect(counts).toMatchObject({ sent: 1, pairs: 0, dropped: { stopped: 1 } })
  })
})

test.each([true, false])('copies go to a candidate while an endpoint of it takes requests: %s', (takesRequests) => {
  const candidate = { upstream: {}, shadow: { sample: 1, concurrency: 1, compare: null } }
  const running = { members: [{ receivesTraffic: true, takesRequests, health: { isDown: false } }] }
  const resources = { sides: { primary: running, candidate: running }, open: () => running, comparison: null }
  const shadow = openShadow(candidate as unknown as CandidateConfig, resources as unknown as ShadowResources)

  expect(shadow?.isUp()).toBe(takesRequests)
})
