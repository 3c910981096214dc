/** How attempts that failed at a candidate are repeated. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange, Handler } from '../../../src/core/exchange/exchange.ts'
import type { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { splitSend } from '../../../src/features/candidate/layers/split-send.ts'
import { type Idempotency, retryLayer } from '../../../src/features/retry/layer.ts'
import type { Side } from '../../../src/operations.ts'
import { plenty, retryConfig, type Step, scripted } from '../../features/retry/helper.ts'
import { fakeBody, fakeExchange } from '../../helpers/exchange.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

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
const run = async ({
  candidate,
  primary = [200],
  side = 'candidate',
  idempotency = {},
  fallback = true,
  keyField = 'idempotency-key',
  fields = [],
  canTake = () => true,
}: Given) => {
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
  const layer = retryLayer(retryConfig(), allowance, {
    safe: true,
    keyField: 'idempotency-key',
    candidate: { keyField, fallback },
    ...idempotency,
  })
  const startedAt = Date.now()
  const ended = layer(send)(exchange).then(
    ({ status }) => status,
    ({ kind }: GatewayError) => kind,
  )
  await vi.runAllTimersAsync()
  return { outcome: await ended, visits, exchange, asked, tookMs: Date.now() - startedAt }
}

describe('an attempt that failed at the candidate', () => {
  test.each(['reset-before-headers', 'bad-answer', 503] as const)(
    'is followed by one at the primary: %s',
    async (step) => {
      const { outcome, visits, exchange } = await run({ candidate: [step] })

      expect([outcome, visits]).toEqual([200, ['candidate', 'primary']])
      expect([exchange.side, exchange.attempts.fellBack]).toEqual(['candidate', true])
    },
  )

  test('is followed by attempts at the primary alone, as many as there may be in all', async () => {
    const { outcome, visits } = await run({ candidate: [503], primary: [502, 503] })

    expect([outcome, visits]).toEqual([503, ['candidate', 'primary', 'primary']])
  })

  test('stays on its side with fallback: false', async () => {
    const { outcome, visits, exchange } = await run({ candidate: [503, 503, 503], fallback: false })

    expect([outcome, visits]).toEqual([503, ['candidate', 'candidate', 'candidate']])
    expect(exchange.attempts.fellBack).toBe(false)
  })

  test('is not followed by another where the rules allow none', async () => {
    const { outcome, visits } = await run({ candidate: [500] })

    expect([outcome, visits]).toEqual([500, ['candidate']])
  })

  test('does not make the primary wait for what the candidate asks', async () => {
    const asking = { candidate: [{ status: 503, retryAfter: '20' }] } as const

    const [moved, stayed] = [await run(asking), await run({ ...asking, fallback: false, canTake: () => true })]

    expect(moved.tookMs).toBeLessThan(1000)
    expect(stayed.tookMs).toBeGreaterThanOrEqual(20_000)
  })

  test('takes a token for the side that the next attempt goes to', async () => {
    const [moves, stays, never] = [
      await run({ candidate: [503] }),
      await run({ candidate: [503, 200], fallback: false }),
      await run({ candidate: [503], canTake: (side) => side !== 'primary' }),
    ]

    expect([moves.asked, stays.asked]).toEqual([['primary'], ['candidate']])
    expect([never.outcome, never.visits]).toEqual([503, ['candidate']])
  })
})

describe('a POST that the candidate may have processed', () => {
  const post = { idempotency: { safe: false }, fields: keyed }

  test('is repeated there by its key, and never at the primary, which may not know the key', async () => {
    const { outcome, visits } = await run({ ...post, candidate: ['reset-before-headers', 200] })

    expect([outcome, visits]).toEqual([200, ['candidate', 'candidate']])
  })

  test('does not go to the primary either when a repetition finds no connection', async () => {
    const { outcome, visits } = await run({ ...post, candidate: ['reset-before-headers', 'connect-failed'] })

    expect(visits).not.toContain('primary')
    expect(outcome).toBe('connect-failed')
  })

  test('is not repeated without a key, nor where the candidate is not sent it', async () => {
    const without = await run({ ...post, fields: [], candidate: ['reset-before-headers'] })
    const removed = await run({ ...post, keyField: null, candidate: ['reset-before-headers'] })

    expect([without.visits, removed.visits]).toEqual([['candidate'], ['candidate']])
  })

  test('is repeated at the primary by its key when the primary alone has it', async () => {
    const { visits } = await run({
      ...post,
      keyField: null,
      candidate: ['connect-failed'],
      primary: ['reset-before-headers', 200],
    })

    expect(visits).toEqual(['candidate', 'primary', 'primary'])
  })
})

test('an exchange of the primary is repeated there, and never at the candidate', async () => {
  const { outcome, visits, asked } = await run({ side: 'primary', candidate: [200], primary: [503, 'connect-failed'] })

  expect([outcome, visits]).toEqual(['connect-failed', ['primary', 'primary', 'primary']])
  expect(asked).toEqual(['primary', 'primary'])
})
