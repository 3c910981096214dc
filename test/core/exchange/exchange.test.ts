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

  test('the layers are wrapped once, not at every exchange', async () => {
    let wrapped = 0
    const layer: Layer = (next) => {
      wrapped++
      return next
    }
    const handle = compose([layer], fakeNext())

    await handle(fakeExchange())
    await handle(fakeExchange())

    expect(wrapped).toBe(1)
  })
})

describe('an abort', () => {
  test('reaches the listener once, with its reason', () => {
    const exchange = fakeExchange()
    const reasons: string[] = []
    exchange.setAbortListener(({ kind }) => reasons.push(kind))

    exchange.abort(new GatewayError('client-gone'))
    exchange.abort(new GatewayError('deadline-exceeded'))

    expect(reasons).toEqual(['client-gone'])
    expect(exchange.aborted?.kind).toBe('client-gone')
  })

  test('that has happened reaches a later listener at once', () => {
    const exchange = fakeExchange()
    exchange.abort(new GatewayError('client-gone'))

    const reasons: string[] = []
    exchange.setAbortListener(({ kind }) => reasons.push(kind))

    expect(reasons).toEqual(['client-gone'])
  })

  test('reaches the last listener: attempts follow each other', () => {
    const exchange = fakeExchange()
    const reasons: string[] = []
    exchange.setAbortListener(() => reasons.push('first'))
    exchange.setAbortListener(() => reasons.push('second'))

    exchange.abort(new GatewayError('client-gone'))

    expect(reasons).toEqual(['second'])
  })

  test('reaches no listener that has been removed', () => {
    const exchange = fakeExchange()
    const reasons: string[] = []
    exchange.setAbortListener(() => reasons.push('late'))
    exchange.setAbortListener(null)

    exchange.abort(new GatewayError('client-gone'))

    expect(reasons).toEqual([])
    expect(exchange.aborted?.kind).toBe('client-gone')
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
  test('is unknown of an exchange of which nothing was sent', () => {
    expect(fakeExchange().attempts.upstreamMs).toBeNull()
  })

  test('is the time from the start of the last attempt to its end', () => {
    const exchange = fakeExchange()
    exchange.attempts.last = attemptRecord({ startedAt: 3, endedAt: 10 })

    exchange.finish()

    expect(exchange.attempts.upstreamMs).toBe(7)
  })

  test('ends with an exchange whose client has left', () => {
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
