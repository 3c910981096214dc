import { describe, expect, test, vi } from 'vitest'
import type { Exchange, Handler } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError, overloadedError } from '../../../../src/core/exchange/failures/errors.ts'
import { guardLayer } from '../../../../src/features/candidate/layers/guard.ts'
import { createGuardCounts } from '../../../../src/features/candidate/observe/guard/guard-counts.ts'
import { latencyBucketEnd, readGuardKey } from '../../../../src/features/candidate/observe/guard/guard-key.ts'
import type { Side } from '../../../../src/operations.ts'
import { fakeAttempts, fakeBody, fakeExchange, fakeResponse } from '../../../helpers/exchange.ts'
import { moveClock } from '../../../helpers/odd-clocks.ts'

/** `members`: the candidate's endpoints. */
const guarded = (next: Handler, members = [{ takesRequests: true }]) => {
  const counts = createGuardCounts('market', 'era', () => {})
  /** The counts since the last call. */
  const counted = () => {
    const keys = counts.take().report.counts
    return keys.flatMap((key, i) => (i % 2 === 0 ? [readGuardKey(key)] : []))
  }
  return { handle: guardLayer(counts, 64, members)(next), counted, counts }
}

const on = (side: Side | null, more: Partial<Exchange> = {}): Exchange =>
  Object.assign(fakeExchange({ operation: 'market.insights' }), { side }, more)

const responding = (status: number) => async () => fakeResponse(status)
const failing = (error: unknown) => () => Promise.reject(error)
const allDraining = failing(new GatewayError('no-healthy-endpoint', { reason: 'all-draining' }))

const fallingBack =
  (handle: Handler): Handler =>
  (exchange) => {
    exchange.attempts.fellBack = true
    return handle(exchange)
  }

describe('what becomes of a request', () => {
  test.each<[string, Handler, string | null]>([
    ['a 200', responding(200), 'number'],
    ['a 304', responding(304), 'number'],
    ['a 404', responding(404), 'rejected'],
    ['a 500', responding(500), 'failed'],
    ['a reset', failing(new GatewayError('reset-before-headers')), 'failed'],
    ['a deadline', failing(new GatewayError('deadline-exceeded')), 'failed'],
    ['no endpoint', allDraining, 'failed'],
    ['an open breaker', failing(new GatewayError('circuit-open', { reason: 'breaker-open' })), 'failed'],
    ['no connection left', failing(overloadedError('endpoint-connections')), 'failed'],
    ['a body that is too large, which is no fault of a side', failing(new GatewayError('content-too-large')), null],
    ['an upload that is too slow, which is none', failing(new GatewayError('request-timeout')), null],
    ['a defect of the gateway, which is none', failing(new GatewayError('internal')), null],
  ])('%s', async (_, next, outcome) => {
    const { handle, counted, counts } = guarded(next)

    for (const side of ['primary', 'candidate'] as const) {
      await handle(on(side)).catch(() => {})
      const told = counted().map((event) => [event.side, typeof event.outcome === 'number' ? 'number' : event.outcome])

      expect(told).toEqual(outcome === null ? [] : [[side, outcome]])
      expect(counts.take().isWaiting).toBe(false)
    }
  })

  test('a client that leaves counts with the time that it has waited', async () => {
    const pass = moveClock(performance)
    const { handle, counted } = guarded(() => {
      pass(2000)
      return Promise.reject(new GatewayError('client-gone'))
    })

    await expect(handle(on('candidate'))).rejects.toMatchObject({ kind: 'client-gone' })

    const [event] = counted()
    expect(event).toMatchObject({ side: 'candidate', hasResponse: false })
    expect(latencyBucketEnd(Number(event?.outcome))).toBeGreaterThanOrEqual(2000)
    expect(latencyBucketEnd(Number(event?.outcome) - 1)).toBeLessThan(2000)
  })

  test('a request that fell back is a failure of the candidate, not of the primary', async () => {
    const { handle, counted } = guarded(fallingBack(responding(200)))
    await handle(on('candidate'))

    expect(counted()).toMatchObject([{ side: 'candidate', outcome: 'failed' }])
  })
})

describe('once operators drain all of the candidate', () => {
  test.each([
    ['found no endpoint there', allDraining],
    ['the primary has served', fallingBack(responding(200))],
    ['the primary has failed', fallingBack(failing(new GatewayError('reset-before-headers')))],
  ])('a request that began before, and that %s, is no failure of it', async (_, next) => {
    const [last, drained] = [{ takesRequests: true }, { takesRequests: false }]
    const { promise: uploaded, resolve } = Promise.withResolvers<void>()
    const { handle, counted, counts } = guarded((exchange) => uploaded.then(() => next(exchange)), [last, drained])
    const handled = handle(on('candidate')).catch(() => {})

    last.takesRequests = false
    resolve()
    await handled

    expect([counted(), counts.take().isWaiting]).toEqual([[], false])
  })

  test.each<[string, Side, Handler, string]>([
    ['a 500 of it', 'candidate', responding(500), 'failed'],
    ['a 404 of it', 'candidate', responding(404), 'rejected'],
    ['a reset of it', 'candidate', failing(new GatewayError('reset-before-headers')), 'failed'],
    ['a primary without an endpoint', 'primary', allDraining, 'failed'],
  ])('%s counts', async (_, side, next, outcome) => {
    const { handle, counted } = guarded(next, [{ takesRequests: false }])
    await handle(on(side)).catch(() => {})

    expect(counted()).toMatchObject([{ side, outcome }])
  })
})

test('only the first attempt counts, and nothing where the group has no sides', async () => {
  const { handle, counted } = guarded(responding(500))
  await handle(on('candidate', { attempts: fakeAttempts({ count: 1 }) }))
  await handle(on('candidate', { attempts: fakeAttempts({ fellBack: true }) }))
  await handle(on(null))

  expect(counted()).toEqual([])
})

test('the same client is in the same cell', async () => {
  const { handle, counted } = guarded(responding(500))

  const cells: (number | undefined)[] = []
  for (const client of ['10.0.0.1', '10.0.0.2', '10.0.0.1']) {
    await handle(Object.assign(fakeExchange({ client }), { side: 'candidate' }))
    cells.push(counted()[0]?.cell)
  }

  expect(cells[0]).toBe(cells[2])
  expect(cells[0]).not.toBe(cells[1])
})

test('the time of an upload is the client’s: the wait begins when all of it has come', async () => {
  const onReceived = vi.fn()
  const body = Object.assign(fakeBody(100), { onReceived })
  const { handle, counted, counts } = guarded(failing(new GatewayError('client-gone')))

  await expect(handle(Object.assign(fakeExchange({ body }), { side: 'candidate' }))).rejects.toThrow()
  expect([counted(), counts.take().isWaiting]).toEqual([[], false])

  body.complete()
  expect(onReceived).toHaveBeenCalledTimes(1)
})

describe('a response that was begun', () => {
  test.each(['primary', 'candidate'] as const)('and is found broken is bad, once: of the %s', async (side) => {
    const { handle, counted } = guarded(responding(200))
    const exchange = on(side)
    await handle(exchange)
    counted()
    for (let i = 0; i < 2; i++) exchange.onBrokenResponse?.()

    expect(counted()).toMatchObject([{ side, outcome: 'late' }])
  })

  test('a 500 that breaks off is one failure, whichever is found first', async () => {
    const { handle, counted } = guarded(responding(500))
    const exchange = on('candidate')

    await handle(exchange)
    exchange.onBrokenResponse?.()
    const failedFirst = counted()
    const brokenFirst = guarded((each) => {
      each.onBrokenResponse?.()
      return Promise.resolve(fakeResponse(500))
    })
    await brokenFirst.handle(on('candidate'))

    expect(failedFirst).toMatchObject([{ outcome: 'failed' }])
    expect(brokenFirst.counted()).toMatchObject([{ outcome: 'late' }, { outcome: expect.any(Number) }])
  })

  test('a broken response counts for the side that sent it', async () => {
    const { handle, counted } = guarded(responding(200))
    const exchange = on('candidate')

    await handle(exchange)
    counted()
    exchange.attempts.fellBack = true
    exchange.onBrokenResponse?.()

    expect(counted()).toEqual([])
  })
})
