import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange, Handler } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { type FailureKind, failureTable } from '../../../src/core/exchange/failures/failure-table.ts'
import { now } from '../../../src/core/lib/clock.ts'
import type { RetryConfig } from '../../../src/features/retry/config.ts'
import { retryLayer } from '../../../src/features/retry/layer.ts'
import { createRetryBudget } from '../../../src/features/retry/runtime.ts'
import { type FakeBody, fakeExchange } from '../../helpers/exchange.ts'
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

// The bodies of responses that another one replaces are discarded once.
test.each<[string, readonly [Step, ...Step[]], number, readonly number[], object]>([
  ['an exchange that succeeds is sent once', [200], 1, [0], { requested: 1, taken: 0 }],
  ['another attempt hides a failure', ['reset-before-headers', 200], 2, [0], { requested: 1, taken: 1 }],
  ['another attempt hides a response', [503, 502, 200], 3, [1, 1, 0], { requested: 1, taken: 2 }],
])('%s', async (_, steps, calls, discards, counts) => {
  const [next, budget] = [scripted(...steps), plenty()]

  expect((await run(next, { budget })).status).toBe(200)
  expect([next.calls.length, next.discards, budget.counts]).toEqual([calls, discards, counts])
})

describe('another attempt', () => {
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

  const failed = 'connect-failed'

  test.each<[string, readonly [Step, ...Step[]], string]>([
    ['reaches no endpoint does not hide how the one before failed', [failed, 'circuit-open'], failed],
    ['finds no place does not hide it either', [failed, 'overloaded'], failed],
    ['fails in another way decides the failure', [failed, 'headers-timeout'], 'headers-timeout'],
    ['is not made after a rejection leaves that one', ['circuit-open'], 'circuit-open'],
    ['is rejected after a response decides the failure', [503, 'circuit-open'], 'circuit-open'],
  ])('that %s', async (_, steps, failure) => {
    const next = scripted(...steps)

    await expect(run(next)).rejects.toThrow(failure)
    expect(next.calls).toHaveLength(steps.length)
  })

  test.each<[string, Parameters<typeof retryLayer>[2], (exchange: Exchange) => void]>([
    ['has begun to get a response', safe, (exchange) => Object.assign(exchange, { responseStarted: true })],
    ['has ended', safe, (exchange) => exchange.abort(new GatewayError('client-gone'))],
    ['may not be repeated', { safe: false, keyField: 'idempotency-key' }, () => {}],
    ['has no time left', safe, (exchange) => Object.assign(exchange, { deadlineAt: now() })],
  ])('does not follow in an exchange that %s, and takes nothing of the budget', async (_, repeatable, arrange) => {
    const [next, budget, exchange] = [scripted(503), plenty(), fakeExchange()]
    arrange(exchange)

    await expect(run(next, { exchange, budget, repeatable })).resolves.toMatchObject({ status: 503 })
    expect([next.calls.length, next.discards, budget.counts.taken]).toEqual([1, [0], 0])
  })
})

describe('the budget', () => {
  test('ends the attempts at once when it is used up', async () => {
    const budget = createRetryBudget({ share: 0, floor: 1 })
    const given = { config: { attempts: 5 }, budget, random: noWait }
    const [first, second] = [scripted(503), scripted(503)]

    await run(first, given)
    const response = await begin(second, given)

    expect(response.status).toBe(503)
    expect([first, second].map(({ discards }) => discards)).toEqual([[1, 0], [0]])
  })
})

/** Returns the pauses before the second, the third … attempt. */
const pauses = ({ calls }: { readonly calls: readonly number[] }): number[] =>
  calls.slice(1).map((at, i) => Math.round(at - (calls[i] as number)))

describe('the pause', () => {
  test.each([
    ['is at most the base, doubled each time, up to the longest', [1, 1, 1, 1, 1, 1], [25, 50, 100, 200, 250, 250]],
    ['is any part of that', [0.2, 0.5, 0.99], [5, 25, 99]],
  ])('%s', async (_, drawn, expected) => {
    const next = scripted('connect-failed')
    const left = [...drawn]

    await run(next, { config: { attempts: drawn.length + 1 }, random: () => left.shift() ?? 0 }).catch(() => {})

    expect(pauses(next)).toEqual(expected)
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
  ['a GET', 'GET', false, [], ['empty', 'replayable', 'sent']],
  ['a POST', 'POST', false, [], []],
  ['a POST with a key that the upstream ignores', 'POST', false, ['Idempotency-Key', 'a'], []],
  ['a POST without the key of its operation', 'POST', true, ['X-Idempotency-Key', 'a'], []],
  ['a POST with a key', 'POST', true, keyed, ['empty', 'replayable', 'sent']],
  ['a POST with an empty key', 'POST', true, ['Idempotency-Key', ' '], []],
  ['a POST with two keys', 'POST', true, ['Idempotency-Key', 'a', 'Idempotency-Key', 'a'], []],
  ['a POST with a key and its twin', 'POST', true, ['Idempotency_key', 'b', 'Idempotency-Key', 'a'], []],
  ['a POST with the twin of a key', 'POST', true, ['Idempotency_Key', 'a'], []],
]

const unsent: readonly Body[] = ['empty', 'replayable', 'sent', 'unread']
const whenUnsent: readonly FailureKind[] = ['connect-failed', 'connect-timeout', 'tls-failed']
const responses = [429, 500, 503]
const whenSent: readonly Step[] = ['reset-before-headers', 'headers-timeout', 'bad-response', ...responses]
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

const kinds = Object.keys(failureTable) as FailureKind[]
const statuses = [200, 404, 429, 500, 502, 503, 504]

const cases = fc.record({
  steps: fc.array(
    fc.oneof(
      fc.constantFrom<Step>(...kinds, ...statuses),
      fc.record({ status: fc.constantFrom(...statuses), retryAfter: fc.constantFrom('0', '1', '40', 'soon') }),
    ),
    { minLength: 1, maxLength: 12 },
  ),
  attempts: fc.integer({ min: 2, max: 10 }),
  on: fc.subarray([...kinds, ...statuses] as RetryConfig['on'][number][]),
  budget: fc.record({ share: fc.constantFrom(0, 0.1, 1), floor: fc.constantFrom(0, 3, 1000) }),
  get: fc.boolean(),
  keyed: fc.boolean(),
  keys: fc.array(fc.constantFrom('', 'a', 'b'), { maxLength: 2 }),
  body: fc.constantFrom('empty', 'replayable', 'unread'),
  deadlineMs: fc.option(fc.integer({ min: 1, max: 60_000 })),
  abortAfterMs: fc.option(fc.integer({ min: 0, max: 2000 })),
})

type Case = typeof cases extends fc.Arbitrary<infer T> ? T : never

/** Tells whether the upstream may have received the request. */
const wasSent = (step: Step): boolean => typeof step !== 'string' || failureTable[step].retry !== 'always'

const getStatus = (step: Step): number | null => {
  if (typeof step === 'object' && 'status' in step) return step.status
  return typeof step === 'number' ? step : null
}

const runCase = async (given: Case) => {
  const budget = createRetryBudget(given.budget)
  const taken = vi.spyOn(budget, 'take')
  const fields = given.keys.flatMap((key) => ['Idempotency-Key', key])
  const body: FakeBody = bodies[given.body]()
  const exchange = fakeExchange({ operation: given.get ? 'market.insights' : 'valuation.score', fields, body })
  const next = scripted(...(given.steps as [Step, ...Step[]]))
  const stepOf = (call: number): Step => given.steps[Math.min(call, given.steps.length - 1)] as Step
  let startedBefore = 0
  /** Reads the body as an attempt does. */
  const sending: Handler = (each: Exchange) => {
    if (body.length === null && body.started) startedBefore++
    if (wasSent(stepOf(next.calls.length))) body.begin()
    return next(each)
  }
  const config = { ...given, backoff: { base: 25, max: 250 } }
  exchange.deadlineAt = given.deadlineMs === null ? null : now() + given.deadlineMs
  if (given.abortAfterMs !== null) setTimeout(() => exchange.abort(new GatewayError('client-gone')), given.abortAfterMs)

  const repeatable = { safe: given.get, keyField: given.keyed ? 'idempotency-key' : null }
  const ended = retryLayer(config, budget, repeatable)(sending)(exchange).catch((error: unknown) => error)
  await vi.runAllTimersAsync()
  const outcome = await ended
  const granted = taken.mock.results.filter(({ value }) => value === true).length
  return { outcome, next, steps: next.calls.map((_, call) => stepOf(call)), granted, startedBefore, exchange }
}

test('whatever happens, no more attempts than are allowed, none that does harm, each replaced response discarded once, and nothing left behind', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (given) => {
      const startedAt = now()
      const { outcome, next, steps, granted, startedBefore, exchange } = await runCase(given)
      const repeatable = given.get || (given.keyed && given.keys.length === 1 && given.keys[0] !== '')
      const replaced = steps.slice(0, -1)

      // One token for each retry; a wait that an abort ended has cost one, too.
      expect(next.calls.length).toBeLessThanOrEqual(given.attempts)
      expect(granted - (next.calls.length - 1)).toBe(outcome === exchange.aborted && outcome !== null ? 1 : 0)
      if (!repeatable) expect(replaced.filter(wasSent)).toEqual([])
      expect(startedBefore).toBe(0)
      for (const step of replaced) {
        expect(given.on).toContain(typeof step === 'string' ? step : getStatus(step))
        if (typeof step === 'string') expect(failureTable[step].retry).not.toBe('never')
      }
      // The response that is relayed is never discarded.
      const relayed = outcome instanceof Error ? 0 : 1
      expect(next.discards).toEqual([...Array(next.discards.length - relayed).fill(1), ...Array(relayed).fill(0)])
      // An attempt that waits begins before the deadline.
      for (const at of next.calls) expect(at - startedAt).toBeLessThan(given.deadlineMs ?? Number.POSITIVE_INFINITY)
      expect(vi.getTimerCount()).toBe(0)
    }),
    { numRuns: 600 },
  )
})
