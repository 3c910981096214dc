import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { compose, type Layer } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { now } from '../../../src/core/lib/clock.ts'
import { attemptRecord, fakeExchange, fakeNext } from '../../helpers/exchange.ts'

describe('compose', () => {
  const noting =
    (seen: string[], name: string): Layer =>
    (next) =>
    async (exchange) => {
      seen.push(`${name} in`)
      const response = await next(exchange)
      seen.push(`${name} out`)
      return response
    }

  test('the first of the list is outermost', async () => {
    const seen: string[] = []
    const handle = compose([noting(seen, 'first'), noting(seen, 'second')], fakeNext())

    await handle(fakeExchange())

    expect(seen).toEqual(['first in', 'second in', 'second out', 'first out'])
  })

  test('a layer that is off leaves no trace', () => {
    const innermost = fakeNext()

    expect(compose([null, null], innermost)).toBe(innermost)
    expect(compose([], innermost)).toBe(innermost)
  })

  test('layers are wrapped once, not at every exchange', async () => {
    const layer = vi.fn<Layer>((next) => next)
    const handle = compose([layer], fakeNext())

    await handle(fakeExchange())
    await handle(fakeExchange())

    expect(layer).toHaveBeenCalledTimes(1)
  })
})

describe('an abort', () => {
  const record = () => {
    const exchange = fakeExchange()
    const seen: string[] = []
    const listen = (name: string) => exchange.setAbortListener(({ kind }) => seen.push(`${name}: ${kind}`))
    return { exchange, seen, listen, abort: () => exchange.abort(new GatewayError('client-gone')) }
  }

  test('an abort reaches the last listener once, with its reason, as attempts follow each other', () => {
    const { exchange, seen, listen, abort } = record()
    listen('first')
    listen('second')

    abort()
    exchange.abort(new GatewayError('deadline-exceeded'))

    expect([seen, exchange.aborted?.kind]).toEqual([['second: client-gone'], 'client-gone'])
  })

  test('an abort that has happened reaches a later listener at once', () => {
    const { seen, listen, abort } = record()
    abort()

    listen('late')

    expect(seen).toEqual(['late: client-gone'])
  })

  test('an abort reaches no removed listener', () => {
    const { exchange, seen, listen, abort } = record()
    listen('removed')
    exchange.setAbortListener(null)

    abort()

    expect([seen, exchange.aborted?.kind]).toEqual([[], 'client-gone'])
  })
})

test('a callback for the end of an exchange runs once', () => {
  const exchange = fakeExchange()
  let calls = 0
  exchange.onFinished(() => calls++)
  exchange.onFinished(() => calls++)

  exchange.finish()
  exchange.finish()

  expect(calls).toBe(2)
})

describe('the time of the upstream', () => {
  test('the upstream time of an exchange that sent nothing is unknown', () => {
    expect(fakeExchange().attempts.upstreamMs).toBeNull()
  })

  test('the upstream time runs from the start of the last attempt to its end', () => {
    const exchange = fakeExchange()
    exchange.attempts.last = attemptRecord({ startedAt: 3, endedAt: 10 })

    exchange.finish()

    expect(exchange.attempts.upstreamMs).toBe(7)
  })

  test('the upstream time ends with an exchange whose client has left', () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const exchange = fakeExchange()
    exchange.attempts.last = attemptRecord({ startedAt: now() })
    vi.advanceTimersByTime(20)

    exchange.finish()
    vi.advanceTimersByTime(1000)

    expect(exchange.attempts.upstreamMs).toBe(20)
  })
})
