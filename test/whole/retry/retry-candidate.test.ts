/** How attempts that failed at a candidate are repeated. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange, Handler } from '../../../src/core/exchange/exchange.ts'
import type { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { now } from '../../../src/core/lib/clock.ts'
import { splitSend } from '../../../src/features/candidate/layers/split-send.ts'
import { type Idempotency, retryLayer } from '../../../src/features/retry/layer.ts'
import type { Side } from '../../../src/operations.ts'
import { plenty, retryConfig, type Step, scripted } from '../../features/retry/helper.ts'
import { fakeBody, fakeExchange } from '../../helpers/exchange.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const idempotencyKey = 'idempotency-key'
const keyed = ['Idempotency-Key', '8e03']

interface Given {
  readonly candidate: readonly [Step, ...Step[]]
  readonly primary?: readonly [Step, ...Step[]]
  readonly side?: Side
  readonly idempotency?: Partial<Idempotency>
  readonly fallback?: boolean
  readonly keyField?: string | null
  readonly fields?: readonly string[]
  readonly canTake?: (side: Side | null) => boolean
}

/** Sends one exchange through the retries and both sides, and returns where its attempts went. */
const run = async ({ candidate, primary = [200], side = 'candidate', keyField = idempotencyKey, ...more }: Given) => {
  const { idempotency = {}, fallback = true, fields = [], canTake = () => true } = more
  const visits: Side[] = []
  const visiting =
    (name: Side, handler: Handler): Handler =>
    (exchange) => {
      visits.push(name)
      return handler(exchange)
    }
  const isSafe = idempotency.safe ?? true
  const exchange: Exchange = fakeExchange({
    operation: isSafe ? 'market.insights' : 'risk.asset-valuation',
    fields,
    body: fakeBody(isSafe ? 0 : 10),
  })
  exchange.side = side
  const send = splitSend({
    primary: visiting('primary', scripted(...primary)),
    candidate: visiting('candidate', scripted(...candidate)),
    fallback,
    candidateIsUp: () => true,
  })
  const asked: (Side | null)[] = []
  const allowance = {
    ...plenty(),
    take: (at: Side | null) => {
      asked.push(at)
      return canTake(at)
    },
  }
  const rules = { safe: true, keyField: idempotencyKey, candidate: { keyField, fallback }, ...idempotency }
  const layer = retryLayer(retryConfig(), allowance, rules)
  const startedAt = now()
  let endedAt = startedAt
  const ended = layer(send)(exchange).then(
    ({ status }) => status,
    ({ kind }: GatewayError) => kind,
  )
  void ended.then(() => {
    endedAt = now()
  })
  await vi.advanceTimersByTimeAsync(60_000)
  return { outcome: await ended, visits, exchange, asked, tookMs: endedAt - startedAt }
}

const [cand, prim] = ['candidate', 'primary'] as const
const [reset, unsent] = ['reset-before-headers', 'connect-failed'] as const

describe('an attempt that failed at the candidate', () => {
  test.each<[string, Given, number, readonly Side[]]>([
    ['is followed by one at the primary: after a reset', { candidate: ['reset-before-headers'] }, 200, [cand, prim]],
    ['is followed by one at the primary: after a bad response', { candidate: ['bad-response'] }, 200, [cand, prim]],
    ['is followed by one at the primary: after a 503', { candidate: [503] }, 200, [cand, prim]],
    ['and by no more in all', { candidate: [503], primary: [502, 503] }, 503, [cand, prim, prim]],
    ['stays on its side with fallback: false', { candidate: [503], fallback: false }, 503, [cand, cand, cand]],
    ['is not followed by another where the rules allow none', { candidate: [500] }, 500, [cand]],
    ['nor without a token for the other side', { candidate: [503], canTake: (at) => at !== prim }, 503, [cand]],
  ])('%s', async (_, given, expected, sides) => {
    const { outcome, visits, exchange } = await run(given)

    expect([outcome, visits]).toEqual([expected, sides])
    expect([exchange.side, exchange.attempts.fellBack]).toEqual([cand, sides.includes(prim)])
  })

  test('does not make the primary wait for what the candidate asks', async () => {
    const asking = { candidate: [{ status: 503, retryAfter: '20' }] } as const

    const [moved, stayed] = [await run(asking), await run({ ...asking, fallback: false })]

    expect(moved.tookMs).toBeLessThan(1000)
    expect(stayed.tookMs).toBeGreaterThanOrEqual(20_000)
  })

  test('takes a token for the side that the next attempt goes to', async () => {
    const [moves, stays] = [await run({ candidate: [503] }), await run({ candidate: [503, 200], fallback: false })]

    expect([moves.asked, stays.asked]).toEqual([[prim], [cand]])
  })
})

// It is never repeated at the primary, which may not know the key.
test.each<[string, Partial<Given>, number | string, readonly Side[]]>([
  ['is repeated there by its key', { candidate: [reset, 200] }, 200, [cand, cand]],
  ['also when a repetition finds no connection', { candidate: [reset, unsent] }, unsent, [cand, cand, cand]],
  ['is not repeated without a key', { fields: [] }, 'reset-before-headers', [cand]],
  ['nor where the candidate is not sent it', { keyField: null }, 'reset-before-headers', [cand]],
  [
    'is repeated at the primary by its key when the primary alone has it',
    ...([{ keyField: null, candidate: [unsent], primary: [reset, 200] }, 200, [cand, prim, prim]] as const),
  ],
])('a POST that the candidate may have processed %s', async (_, given, expected, sides) => {
  const post = { idempotency: { safe: false }, fields: keyed, candidate: ['reset-before-headers'] as const }

  const { outcome, visits } = await run({ ...post, ...given })

  expect([outcome, visits]).toEqual([expected, sides])
})

test('an exchange of the primary is repeated there, and never at the candidate', async () => {
  const { outcome, visits, asked } = await run({ side: prim, candidate: [200], primary: [503, 'connect-failed'] })

  expect([outcome, visits]).toEqual(['connect-failed', [prim, prim, prim]])
  expect(asked).toEqual([prim, prim])
})
