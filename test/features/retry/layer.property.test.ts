import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Exchange, Handler } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { type FailureKind, failureTable } from '../../../src/core/exchange/failures/failure-table.ts'
import { now } from '../../../src/core/lib/clock.ts'
import type { RetryConfig } from '../../../src/features/retry/config.ts'
import { retryLayer } from '../../../src/features/retry/layer.ts'
import { createRetryBudget } from '../../../src/features/retry/runtime.ts'
import { type FakeBody, fakeExchange } from '../../helpers/exchange.ts'
import { bodies, type Step, scripted } from './helper.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const kinds = Object.keys(failureTable) as FailureKind[]
const statuses = [200, 404, 429, 500, 502, 503, 504]

const steps = fc.array(
  fc.oneof(
    fc.constantFrom<Step>(...kinds),
    fc.constantFrom<Step>(...statuses),
    fc.record({ status: fc.constantFrom(...statuses), retryAfter: fc.constantFrom('0', '1', '40', 'soon') }),
  ),
  { minLength: 1, maxLength: 12 },
)

const cases = fc.record({
  steps,
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

const run = async (given: Case) => {
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
      const { outcome, next, steps, granted, startedBefore, exchange } = await run(given)
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
