import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange, Handler } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { FailureKind } from '../../../src/core/exchange/failures/failure-table.ts'
import { now } from '../../../src/core/lib/clock.ts'
import type { RetryConfig } from '../../../src/features/retry/config.ts'
import { retryLayer } from '../../../src/features/retry/layer.ts'
import { createRetryBudget } from '../../../src/features/retry/runtime.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { bodies, plenty, retryConfig, type Step, scripted } from './helper.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const safe = { safe: true, keyField: null }

const noWait = () => 0
const wholeWait = () => 1

interface Given {
  readonly exchange?: Exchange
  readonly budget?: Parameters<typeof retryLayer>[1]
  readonly config?: Partial<RetryConfig>
  readonly repeatable?: Parameters<typeof retryLayer>[2]
  readonly random?: () => number
}

/** Begins an exchange, of a GET unless the options say otherwise. */
const begin = (next: Handler, { exchange, budget, config, repeatable, random }: Given = {}) =>
  retryLayer(retryConfig(config), budget ?? plenty(), repeatable ?? safe, random)(next)(exchange ?? fakeExchange())

/** Runs an exchange with all timers, and returns how it ended. */
const run = async (next: Handler, given: Given = {}) => {
  const ended = begin(next, given)
  ended.catch(() => {}) // the caller sees it
  await vi.runAllTimersAsync()
  return ended
}

test('an exchange that succeeds is sent once, and takes no token of the budget', async () => {
  const [next, budget] = [scripted(200), plenty()]

  const response = await begin(next, { budget })

  expect([response.status, next.calls.length]).toEqual([200, 1])
  expect(budget.counts).toEqual({ requested: 1, taken: 0 })
})

describe('another attempt', () => {
  test('hides a failure', async () => {
    const next = scripted('reset-before-headers', 200)

    expect((await run(next)).status).toBe(200)
    expect(next.calls).toHaveLength(2)
  })

  test('hides a response, whose body is discarded once', async () => {
    const next = scripted(503, 502, 200)

    expect((await run(next)).status).toBe(200)
    expect(next.discards).toEqual([1, 1, 0])
  })

  test('follows only what the configuration names', async () => {
    const bug = new TypeError('bug')
    const nexts = [scripted(500, 200), scripted('headers-timeout', 200), scripted(bug, 200)] as const

    await expect(run(nexts[0])).resolves.toMatchObject({ status: 500 })
    await expect(run(nexts[1])).rejects.toMatchObject({ kind: 'headers-timeout' })
    await expect(run(nexts[2])).rejects.toThrow('bug')
    expect(nexts.map(({ calls }) => calls.length)).toEqual([1, 1, 1])
  })

  test('counts with the first one, and the result of the last is relayed', async () => {
    const [responses, failures] = [scripted(503), scripted('connect-failed')]
    const config = { attempts: 4 }

    await expect(run(responses, { config })).resolves.toMatchObject({ status: 503 })
    await expect(run(failures, { config })).rejects.toMatchObject({ kind: 'connect-failed' })

    expect([responses, failures].map(({ calls }) => calls.length)).toEqual([4, 4])
    expect(responses.discards).toEqual([1, 1, 1, 0])
  })

  test.each<[string, readonly [Step, ...Step[]], string]>([
    [
      'reaches no endpoint does not hide how the one before failed',
      ['connect-failed', 'circuit-open'],
      'connect-failed',
    ],
    ['finds no place does not hide it either', ['connect-failed', 'overloaded'], 'connect-failed'],
    ['fails in another way decides the failure', ['connect-failed', 'headers-timeout'], 'headers-timeout'],
    ['is not made after a rejection leaves that one', ['circuit-open'], 'circuit-open'],
    ['is rejected after a response decides the failure', [503, 'circuit-open'], 'circuit-open'],
  ])('that %s', async (_, steps, failure) => {
    const next = scripted(...steps)

    await expect(run(next)).rejects.toThrow(failure)
    expect(next.calls).toHaveLength(steps.length)
  })

  test('does not follow when the client has begun to get a response', async () => {
    const next = scripted(503, 200)
    const exchange = Object.assign(fakeExchange(), { responseStarted: true })

    await expect(run(next, { exchange })).resolves.toMatchObject({ status: 503 })
    expect(next.discards).toEqual([0])
  })

  test('does not follow when the exchange has ended', async () => {
    const next = scripted('connect-failed', 200)
    const exchange = fakeExchange()
    exchange.abort(new GatewayError('client-gone'))

    await expect(run(next, { exchange })).rejects.toThrow('connect-failed')
    expect(next.calls).toHaveLength(1)
  })
})

describe('the budget', () => {
  test('counts an exchange once, and each further attempt', async () => {
    const budget = plenty()

    await run(scripted(503), { budget })

    expect(budget.counts).toEqual({ requested: 1, taken: 2 })
  })

  test('ends the attempts at once when it is used up', async () => {
    const budget = createRetryBudget({ share: 0, floor: 1 })
    const given = { config: { attempts: 5 }, budget, random: noWait }
    const [first, second] = [scripted(503), scripted(503)]

    await run(first, given)
    const response = await begin(second, given)

    expect(response.status).toBe(503)
    expect([first, second].map(({ discards }) => discards)).toEqual([[1, 0], [0]])
  })

  test.each<[string, Parameters<typeof retryLayer>[2], (exchange: Exchange) => void]>([
    ['has begun to get a response', safe, (exchange) => Object.assign(exchange, { responseStarted: true })],
    ['has ended', safe, (exchange) => exchange.abort(new GatewayError('client-gone'))],
    ['may not be repeated', { safe: false, keyField: 'idempotency-key' }, () => {}],
    ['has no time left', safe, (exchange) => Object.assign(exchange, { deadlineAt: now() })],
  ])('gives nothing for an exchange that %s', async (_, repeatable, arrange) => {
    const budget = plenty()
    const exchange = fakeExchange()
    arrange(exchange)

    await run(scripted(503), { exchange, budget, repeatable })

    expect(budget.counts.taken).toBe(0)
  })
})

/** Returns the pauses before the second, the third … attempt. */
const pauses = ({ calls }: { readonly calls: readonly number[] }): number[] =>
  calls.slice(1).map((at, i) => Math.round(at - (calls[i] as number)))

describe('the pause', () => {
  test('is at most the base, doubled each time, up to the longest', async () => {
    const next = scripted('connect-failed')

    await run(next, { config: { attempts: 7 }, random: wholeWait }).catch(() => {})

    expect(pauses(next)).toEqual([25, 50, 100, 200, 250, 250])
  })

  test('is any part of that', async () => {
    const next = scripted('connect-failed')
    const drawn = [0.2, 0.5, 0.99]
    const random = () => drawn.shift() ?? 0

    await run(next, { config: { attempts: 4 }, random }).catch(() => {})

    expect(pauses(next)).toEqual([5, 25, 99])
  })

  test('is at least what the response asks for', async () => {
    const next = scripted({ status: 503, retryAfter: '2' }, { status: 503, retryAfter: '0' }, 200)

    await run(next, { random: wholeWait })

    expect(pauses(next)).toEqual([2000, 50])
  })

  test('does not begin before the response is discarded, so that its connection is free', async () => {
    const next = scripted({ status: 503, retryAfter: '2' }, 200)

    const ended = begin(next)
    await vi.advanceTimersByTimeAsync(1)

    expect(next.discards).toEqual([1])
    await vi.runAllTimersAsync()
    await ended
  })

  test('ends with the exchange, at once, with its reason', async () => {
    const next = scripted({ status: 503, retryAfter: '20' }, 200)
    const exchange = fakeExchange()
    const hooks = vi.spyOn(exchange, 'setAbortListener')
    const rejection = expect(begin(next, { exchange })).rejects.toMatchObject({ kind: 'client-gone' })
    await vi.advanceTimersByTimeAsync(1000)

    exchange.abort(new GatewayError('client-gone'))

    await rejection
    expect(vi.getTimerCount()).toBe(0)
    expect(hooks).toHaveBeenLastCalledWith(null)
    expect(next.calls).toHaveLength(1)
  })

  test('leaves no timer behind', async () => {
    const exchange = fakeExchange()
    const hooks = vi.spyOn(exchange, 'setAbortListener')

    await run(scripted(503, 200), { exchange })

    expect(vi.getTimerCount()).toBe(0)
    expect(hooks).toHaveBeenLastCalledWith(null)
  })
})

describe('a deadline', () => {
  test.each([
    [49, 1],
    [50, 1],
    [51, 2],
  ])('of %i ms leaves room for %i attempt(s), with a pause of 50 ms', async (ms, calls) => {
    const next = scripted('connect-failed', 200)
    const exchange = fakeExchange()
    exchange.deadlineAt = now() + ms
    const config = { backoff: { base: 50, max: 50 } }

    await run(next, { exchange, config, random: wholeWait }).catch(() => {})

    expect(next.calls).toHaveLength(calls)
  })

  test('that a wait would outlast makes the response relayed at once, untouched', async () => {
    const next = scripted({ status: 503, retryAfter: '30' }, 200)
    const exchange = fakeExchange()
    exchange.deadlineAt = now() + 30_000

    const response = await begin(next, { exchange })

    expect(response).toMatchObject({ status: 503, fields: ['Retry-After', '30'] })
    expect(next.discards).toEqual([0])
  })

  test.each([
    ['30', 2],
    ['31', 1],
    ['9'.repeat(400), 1],
    [new Date(Date.now() + 3_600_000).toUTCString(), 1], // a date means "not before" (RFC 9110 §10.2.3)
    [new Date(Date.now() - 3_600_000).toUTCString(), 2],
  ])('that is missing has 30 s of waiting allowed: Retry-After %s, %i attempt(s)', async (retryAfter, calls) => {
    const next = scripted({ status: 503, retryAfter }, 200)

    await run(next)

    expect(next.calls).toHaveLength(calls)
  })
})

type Body = keyof typeof bodies

/** What is asked, and the kinds of bodies that allow another attempt at what may have been received. */
type Request = readonly [name: string, method: 'GET' | 'POST', keyField: boolean, fields: readonly string[], Body[]]

const keyed = ['X', 'y', 'idempotency-KEY', '"8e03978e"']
const requests: readonly Request[] = [
  ['a GET', 'GET', false, [], ['empty', 'replayable']],
  ['a POST', 'POST', false, [], []],
  ['a POST with a key that the upstream ignores', 'POST', false, ['Idempotency-Key', 'a'], []],
  ['a POST without the key of its operation', 'POST', true, ['X-Idempotency-Key', 'a'], []],
  ['a POST with a key', 'POST', true, keyed, ['empty', 'replayable']],
  ['a POST with an empty key', 'POST', true, ['Idempotency-Key', ' '], []],
  ['a POST with two keys', 'POST', true, ['Idempotency-Key', 'a', 'Idempotency-Key', 'a'], []],
  ['a POST with a key and its twin', 'POST', true, ['Idempotency_key', 'b', 'Idempotency-Key', 'a'], []],
  ['a POST with the twin of a key', 'POST', true, ['Idempotency_Key', 'a'], []],
]

const unsent: readonly Body[] = ['empty', 'replayable', 'unread']
const whenUnsent: readonly FailureKind[] = ['connect-failed', 'connect-timeout', 'tls-failed']
const responses = [429, 500, 503]
const whenSent: readonly Step[] = ['reset-before-headers', 'headers-timeout', 'bad-answer', ...responses]
const never: readonly FailureKind[] = [
  ...(['deadline-exceeded', 'overloaded', 'circuit-open', 'internal', 'client-gone', 'truncated'] as const),
]
const on = [...whenUnsent, ...whenSent, ...never] as RetryConfig['on']

const rows = requests.flatMap(([name, method, isKeyed, fields, again]) =>
  [
    ...whenUnsent.map((cause) => [cause, unsent] as const),
    ...whenSent.map((cause) => [cause, again] as const),
    ...never.map((cause) => [cause, []] as const),
  ].map(([cause, expected]) => ({ name, method, isKeyed, fields, cause, expected })),
)

test.each(rows)(
  '$name that ends with $cause is sent again when its body is one of $expected',
  async ({ method, isKeyed, fields, cause, expected }) => {
    const repeatable = { safe: method === 'GET', keyField: isKeyed ? 'idempotency-key' : null }
    const operation = method === 'GET' ? 'market.insights' : 'valuation.score'
    const tried: Body[] = []

    for (const [body, make] of Object.entries(bodies) as [Body, (typeof bodies)[Body]][]) {
      const next = scripted(cause, 200)
      const exchange = fakeExchange({ operation, fields, body: make() })
      await run(next, { exchange, config: { on }, repeatable }).catch(() => {})
      if (next.calls.length > 1) tried.push(body)
    }

    expect(tried).toEqual(expected)
  },
)
