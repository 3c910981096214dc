import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { FailureKind } from '../../../src/core/exchange/failures/failure-table.ts'
import { now } from '../../../src/core/lib/clock.ts'
import type { RetryConfig } from '../../../src/features/retry/config.ts'
import { retryLayer } from '../../../src/features/retry/layer.ts'
import { createRetryBudget } from '../../../src/features/retry/runtime.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { bodies, plenty, retryConfig, scripted } from './helper.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const safe = { safe: true, keyField: null }

const noWait = () => 0
const wholeWait = () => 1

/** Runs all timers, and returns how the exchange ended. */
const ending = async <T>(ended: Promise<T>): Promise<T> => {
  ended.catch(() => {}) // the caller sees it
  await vi.runAllTimersAsync()
  return ended
}

describe('an exchange that succeeds', () => {
  test('is sent once, and takes no token of the budget', async () => {
    const [next, budget] = [scripted(200), plenty()]

    const response = await retryLayer(retryConfig(), budget, safe)(next)(fakeExchange())

    expect(response.status).toBe(200)
    expect(next.calls).toHaveLength(1)
    expect(budget.counts).toEqual({ requested: 1, taken: 0 })
  })
})

describe('another attempt', () => {
  test('hides a failure', async () => {
    const next = scripted('reset-before-headers', 200)

    const response = await ending(retryLayer(retryConfig(), plenty(), safe)(next)(fakeExchange()))

    expect(response.status).toBe(200)
    expect(next.calls).toHaveLength(2)
  })

  test('hides a response, whose body is discarded once', async () => {
    const next = scripted(503, 502, 200)

    const response = await ending(retryLayer(retryConfig(), plenty(), safe)(next)(fakeExchange()))

    expect(response.status).toBe(200)
    expect(next.discards).toEqual([1, 1, 0])
  })

  test('follows only what the configuration names', async () => {
    const [status, kind, bug] = [
      scripted(500, 200),
      scripted('headers-timeout', 200),
      scripted(new TypeError('bug'), 200),
    ]
    const layer = retryLayer(retryConfig(), plenty(), safe)

    await expect(ending(layer(status)(fakeExchange()))).resolves.toMatchObject({ status: 500 })
    await expect(ending(layer(kind)(fakeExchange()))).rejects.toMatchObject({ kind: 'headers-timeout' })
    await expect(ending(layer(bug)(fakeExchange()))).rejects.toThrow('bug')
    expect([status, kind, bug].map(({ calls }) => calls.length)).toEqual([1, 1, 1])
  })

  test('counts with the first one, and the result of the last is relayed', async () => {
    const [responses, failures] = [scripted(503), scripted('connect-failed')]
    const layer = retryLayer(retryConfig({ attempts: 4 }), plenty(), safe)

    await expect(ending(layer(responses)(fakeExchange()))).resolves.toMatchObject({ status: 503 })
    await expect(ending(layer(failures)(fakeExchange()))).rejects.toMatchObject({ kind: 'connect-failed' })

    expect([responses, failures].map(({ calls }) => calls.length)).toEqual([4, 4])
    expect(responses.discards).toEqual([1, 1, 1, 0])
  })

  test('that reaches no endpoint does not hide how the one before failed', async () => {
    for (const rejection of ['circuit-open', 'overloaded'] as const) {
      const next = scripted('connect-failed', rejection)

      await expect(ending(retryLayer(retryConfig(), plenty(), safe)(next)(fakeExchange()))).rejects.toThrow(
        'connect-failed',
      )
      expect(next.calls).toHaveLength(2)
    }
  })

  test('that fails in another way decides the failure, and a rejection of the first is relayed', async () => {
    const layer = retryLayer(retryConfig(), plenty(), safe)

    await expect(ending(layer(scripted('connect-failed', 'headers-timeout'))(fakeExchange()))).rejects.toThrow(
      'headers-timeout',
    )
    await expect(ending(layer(scripted('circuit-open'))(fakeExchange()))).rejects.toThrow('circuit-open')
    await expect(ending(layer(scripted(503, 'circuit-open'))(fakeExchange()))).rejects.toThrow('circuit-open')
  })

  test('does not follow when the client has begun to get a response', async () => {
    const next = scripted(503, 200)
    const exchange = fakeExchange()
    exchange.responseStarted = true

    await expect(ending(retryLayer(retryConfig(), plenty(), safe)(next)(exchange))).resolves.toMatchObject({
      status: 503,
    })

    expect(next.discards).toEqual([0])
  })

  test('does not follow when the exchange has ended', async () => {
    const next = scripted('connect-failed', 200)
    const exchange = fakeExchange()
    exchange.abort(new GatewayError('client-gone'))

    await expect(ending(retryLayer(retryConfig(), plenty(), safe)(next)(exchange))).rejects.toThrow('connect-failed')

    expect(next.calls).toHaveLength(1)
  })
})

describe('the budget', () => {
  test('counts an exchange once, and each further attempt', async () => {
    const budget = plenty()

    await ending(retryLayer(retryConfig(), budget, safe)(scripted(503))(fakeExchange()))

    expect(budget.counts).toEqual({ requested: 1, taken: 2 })
  })

  test('ends the attempts at once when it is used up', async () => {
    const budget = createRetryBudget({ share: 0, floor: 1 })
    const layer = retryLayer(retryConfig({ attempts: 5 }), budget, safe, noWait)
    const [first, second] = [scripted(503), scripted(503)]

    await ending(layer(first)(fakeExchange()))
    const response = await layer(second)(fakeExchange())

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

    await ending(retryLayer(retryConfig(), budget, repeatable)(scripted(503))(exchange))

    expect(budget.counts.taken).toBe(0)
  })
})

/** Returns the pauses before the second, the third … attempt. */
const pauses = ({ calls }: { readonly calls: readonly number[] }): number[] =>
  calls.slice(1).map((at, i) => Math.round(at - (calls[i] as number)))

describe('the pause', () => {
  test('is at most the base, doubled each time, up to the longest', async () => {
    const next = scripted('connect-failed')

    await ending(
      retryLayer(retryConfig({ attempts: 7 }), plenty(), safe, wholeWait)(next)(fakeExchange()).catch(() => {}),
    )

    expect(pauses(next)).toEqual([25, 50, 100, 200, 250, 250])
  })

  test('is any part of that', async () => {
    const next = scripted('connect-failed')
    const drawn = [0.2, 0.5, 0.99]
    const random = () => drawn.shift() ?? 0

    await ending(retryLayer(retryConfig({ attempts: 4 }), plenty(), safe, random)(next)(fakeExchange()).catch(() => {}))

    expect(pauses(next)).toEqual([5, 25, 99])
  })

  test('is at least what the response asks for', async () => {
    const next = scripted({ status: 503, retryAfter: '2' }, { status: 503, retryAfter: '0' }, 200)

    await ending(retryLayer(retryConfig(), plenty(), safe, wholeWait)(next)(fakeExchange()))

    expect(pauses(next)).toEqual([2000, 50])
  })

  test('does not begin before the response is discarded, so that its connection is free', async () => {
    const next = scripted({ status: 503, retryAfter: '2' }, 200)

    const ended = retryLayer(retryConfig(), plenty(), safe)(next)(fakeExchange())
    await vi.advanceTimersByTimeAsync(1)
    const discards = [...next.discards]

    expect(discards).toEqual([1])
    await ending(ended)
  })

  test('ends with the exchange, at once, with its reason', async () => {
    const next = scripted({ status: 503, retryAfter: '20' }, 200)
    const exchange = fakeExchange()
    const hooks = vi.spyOn(exchange, 'setAbortListener')
    const ended = retryLayer(retryConfig(), plenty(), safe)(next)(exchange)
    const rejection = expect(ended).rejects.toMatchObject({ kind: 'client-gone' })
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

    await ending(retryLayer(retryConfig(), plenty(), safe)(scripted(503, 200))(exchange))

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
    const config = retryConfig({ backoff: { base: 50, max: 50 } })

    await ending(retryLayer(config, plenty(), safe, wholeWait)(next)(exchange).catch(() => {}))

    expect(next.calls).toHaveLength(calls)
  })

  test('that a wait would outlast makes the response relayed at once, untouched', async () => {
    const next = scripted({ status: 503, retryAfter: '30' }, 200)
    const exchange = fakeExchange()
    exchange.deadlineAt = now() + 30_000

    const response = await retryLayer(retryConfig(), plenty(), safe)(next)(exchange)

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

    await ending(retryLayer(retryConfig(), plenty(), safe)(next)(fakeExchange()))

    expect(next.calls).toHaveLength(calls)
  })
})

type Body = keyof typeof bodies

interface Request {
  readonly method: 'GET' | 'POST'
  /** Whether the operation is configured for an upstream that recognises the key. */
  readonly idempotent?: boolean
  readonly fields?: readonly string[]
}

const requests: Readonly<Record<string, Request>> = {
  'a GET': { method: 'GET' },
  'a POST': { method: 'POST' },
  'a POST with a key that the upstream ignores': { method: 'POST', fields: ['Idempotency-Key', 'a'] },
  'a POST without the key of its operation': { method: 'POST', idempotent: true, fields: ['X-Idempotency-Key', 'a'] },
  'a POST with a key': { method: 'POST', idempotent: true, fields: ['X', 'y', 'idempotency-KEY', '"8e03978e"'] },
  'a POST with an empty key': { method: 'POST', idempotent: true, fields: ['Idempotency-Key', ' '] },
  'a POST with two keys': {
    method: 'POST',
    idempotent: true,
    fields: ['Idempotency-Key', 'a', 'Idempotency-Key', 'a'],
  },
  'a POST with a key and its twin': {
    method: 'POST',
    idempotent: true,
    fields: ['Idempotency_key', 'b', 'Idempotency-Key', 'a'],
  },
  'a POST with the twin of a key': { method: 'POST', idempotent: true, fields: ['Idempotency_Key', 'a'] },
}

// The kinds of bodies that allow another attempt.
const unsent: readonly Body[] = ['empty', 'replayable', 'unread']
const sent: Readonly<Record<keyof typeof requests, readonly Body[]>> = {
  'a GET': ['empty', 'replayable'],
  'a POST': [],
  'a POST with a key that the upstream ignores': [],
  'a POST without the key of its operation': [],
  'a POST with a key': ['empty', 'replayable'],
  'a POST with an empty key': [],
  'a POST with two keys': [],
  'a POST with a key and its twin': [],
  'a POST with the twin of a key': [],
}

const whenUnsent: readonly FailureKind[] = ['connect-failed', 'connect-timeout', 'tls-failed']
const whenSent: readonly (FailureKind | number)[] = [
  'reset-before-headers',
  'headers-timeout',
  'bad-answer',
  429,
  500,
  503,
]
const never: readonly FailureKind[] = [
  'deadline-exceeded',
  'overloaded',
  'circuit-open',
  'internal',
  'client-gone',
  'truncated',
]

const rows = Object.keys(requests).flatMap((request) => [
  ...whenUnsent.map((cause) => [request, cause, unsent] as const),
  ...whenSent.map((cause) => [request, cause, sent[request] ?? []] as const),
  ...never.map((cause) => [request, cause, []] as const),
])

test.each(rows)('%s that ends with %s is sent again when its body is one of %j', async (name, cause, again) => {
  const { method, idempotent = false, fields = [] } = requests[name] as Request
  const on = [...whenUnsent, ...whenSent, ...never] as RetryConfig['on']
  const layer = retryLayer(retryConfig({ on }), plenty(), {
    safe: method === 'GET',
    keyField: idempotent ? 'idempotency-key' : null,
  })
  const tried: Body[] = []

  for (const [body, make] of Object.entries(bodies) as [Body, (typeof bodies)[Body]][]) {
    const next = scripted(cause, 200)
    const operation = method === 'GET' ? 'market.insights' : 'valuation.score'
    const ended = layer(next)(fakeExchange({ operation, fields, body: make() })).catch(() => {})
    await vi.runAllTimersAsync()
    await ended
    if (next.calls.length > 1) tried.push(body)
  }

  expect(tried).toEqual(again)
})
