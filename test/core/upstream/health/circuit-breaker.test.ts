import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { CircuitBreakerConfig } from '../../../../src/core/config/config.ts'
import type { ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import type { FailureKind } from '../../../../src/core/exchange/failures/failure-table.ts'
import { type BreakerState, CircuitBreaker } from '../../../../src/core/upstream/health/circuit-breaker.ts'
import { attemptRecord, fakeAttempts, fakeExchange, fakeResponse } from '../../../helpers/exchange.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const config: CircuitBreakerConfig = { failureRate: 0.5, minRequests: 4, window: 10_000, openFor: 5_000, probes: 2 }

/** How a request ends: with a status, or a failure. */
type End = number | FailureKind

/** A request that is upstream, or was rejected. */
interface Sent {
  readonly passed: boolean
  /** Ends it, and waits until that has been recorded. */
  end(how: End): Promise<unknown>
  readonly settled: Promise<unknown>
}

/** A breaker around an upstream that the test controls. */
class Rig {
  readonly changes: BreakerState[] = []
  readonly breaker: CircuitBreaker
  readonly #waiting: { resolve(response: ProxyResponse): void; reject(error: Error): void }[] = []
  readonly #handle

  constructor(more: Partial<CircuitBreakerConfig> = {}) {
    this.breaker = new CircuitBreaker({ ...config, ...more }, (state) => this.changes.push(state))
    this.#handle = this.breaker.layer(() => new Promise((resolve, reject) => this.#waiting.push({ resolve, reject })))
  }

  send(exchange = fakeExchange()): Sent {
    const before = this.#waiting.length
    const settled = this.#handle(exchange).catch((error: unknown) => error)
    const upstream = this.#waiting[before]
    return {
      passed: upstream !== undefined,
      settled,
      end: (how) => {
        if (typeof how === 'number') upstream?.resolve(fakeResponse(how))
        else upstream?.reject(new GatewayError(how))
        return settled
      },
    }
  }

  /** Sends one request after the other. */
  async run(...ends: End[]): Promise<void> {
    for (const how of ends) await this.send().end(how)
  }
}

/** Creates a breaker that has just opened. */
const opened = async (more: Partial<CircuitBreakerConfig> = {}): Promise<Rig> => {
  const rig = new Rig(more)
  await rig.run(500, 500, 500, 500)
  expect(rig.breaker.state).toBe('open')
  return rig
}

test('it says for how long it stays open', async () => {
  const { breaker } = await opened()
  const before = breaker.openForMs
  vi.advanceTimersByTime(2000)

  expect([new Rig().breaker.openForMs, before, breaker.openForMs]).toEqual([null, 5000, 3000])
  vi.advanceTimersByTime(3000)
  expect([breaker.state, breaker.openForMs]).toEqual(['half-open', null])
})

describe('closed', () => {
  test('it passes responses and failures on as they are', async () => {
    const rig = new Rig()

    expect(await rig.send().end(404)).toMatchObject({ status: 404 })
    expect(await rig.send().end('connect-failed')).toMatchObject({ kind: 'connect-failed' })
  })

  test('it opens at the share of failures, and reports it', async () => {
    const rig = new Rig()
    await rig.run(200, 200, 'connect-failed')
    const before = rig.breaker.state

    await rig.run(503)

    expect([before, rig.breaker.state, rig.changes]).toEqual(['closed', 'open', ['open']])
    expect(rig.breaker.since).toBe(Date.now())
  })

  test.each<[string, BreakerState, ...End[]]>([
    ['fewer requests than the minimum', 'closed', 500, 500, 500],
    ['a success that makes them enough', 'open', 500, 500, 500, 200],
    ['a smaller share of failures', 'closed', 200, 200, 200, 500, 500, 200, 200, 500, 500],
    ['clients that leave', 'closed', ...new Array<End>(6).fill('client-gone')],
    ['requests that found no room', 'closed', ...new Array<End>(6).fill('overloaded')],
    ['defects of the gateway', 'closed', ...new Array<End>(6).fill('internal')],
    [
      'what was not connected, or did not answer',
      'open',
      ...(['connect-failed', 'headers-timeout'] as const),
      500,
      500,
    ],
    ['what is malformed', 'open', ...new Array<End>(4).fill('bad-answer')],
  ])('after %s it is %s', async (_, state, ...ends) => {
    const rig = new Rig()

    await rig.run(...ends)

    expect(rig.breaker.state).toBe(state)
  })

  test('failures that are older than the window do not count', async () => {
    const rig = new Rig()
    await rig.run(500, 500, 500)
    vi.advanceTimersByTime(10_000)

    await rig.run(500, 500, 500)

    expect(rig.breaker.state).toBe('closed')
  })

  test('a throw that is no failure of the gateway is passed on, and says nothing', async () => {
    const rig = new Rig()
    const broken = rig.breaker.layer(() => {
      throw new TypeError('a defect')
    })

    for (let i = 0; i < 6; i++) await expect(broken(fakeExchange())).rejects.toThrow(TypeError)

    expect(rig.breaker.state).toBe('closed')
  })
})

describe('open', () => {
  test('nothing passes, and Retry-After says when something may', async () => {
    const rig = await opened()
    vi.advanceTimersByTime(1_500)

    const rejected = rig.send()

    expect(rejected.passed).toBe(false)
    expect(await rejected.settled).toMatchObject({ kind: 'circuit-open', status: 503, fields: ['Retry-After', '4'] })
  })

  test('Retry-After is at least a second', async () => {
    const rig = await opened()
    vi.advanceTimersByTime(4_999)

    expect(await rig.send().settled).toMatchObject({ fields: ['Retry-After', '1'] })
  })

  test('what was on its way does not count, nor open it anew', async () => {
    const rig = new Rig()
    const late = [rig.send(), rig.send()]
    await rig.run(500, 500, 500, 500)
    const { since } = rig.breaker
    vi.advanceTimersByTime(1_000)

    for (const each of late) await each.end(500)

    expect([rig.breaker.state, rig.breaker.since, rig.changes]).toEqual(['open', since, ['open']])
  })

  test('it is half-open as soon as its time is over, though it was not read', async () => {
    const rig = await opened()
    const { since } = rig.breaker

    vi.advanceTimersByTime(60_000)

    expect([rig.breaker.state, rig.breaker.since]).toEqual(['half-open', since + 5_000])
  })
})

describe('half-open', () => {
  const halfOpen = async (): Promise<Rig> => {
    const rig = await opened()
    vi.advanceTimersByTime(5_000)
    return rig
  }

  test('as many pass as there are probes; the next is rejected for a second', async () => {
    const rig = await halfOpen()

    const sent = [rig.send(), rig.send(), rig.send()]

    expect(sent.map(({ passed }) => passed)).toEqual([true, true, false])
    expect(await sent[2]?.settled).toMatchObject({ kind: 'circuit-open', fields: ['Retry-After', '1'] })
    expect(rig.changes).toEqual(['open', 'half-open'])
  })

  test('it closes when all probes went well, and begins with an empty window', async () => {
    const rig = await halfOpen()

    await rig.run(200, 404)
    const closed = rig.breaker.state
    await rig.run(500, 500, 500)

    expect([closed, rig.breaker.state]).toEqual(['closed', 'closed'])
    expect(rig.changes).toEqual(['open', 'half-open', 'closed'])
  })

  test('one probe that went well does not make room for a third', async () => {
    const rig = await halfOpen()
    await rig.run(200)

    const sent = [rig.send(), rig.send()]

    expect(sent.map(({ passed }) => passed)).toEqual([true, false])
  })

  test('one that fails opens it for the whole time', async () => {
    const rig = await halfOpen()

    await rig.run(200, 502)
    vi.advanceTimersByTime(4_999)

    expect(rig.send().passed).toBe(false)
    expect(rig.changes).toEqual(['open', 'half-open', 'open'])
  })

  test.each<FailureKind>(['client-gone', 'overloaded'])('%s gives its place to another', async (kind) => {
    const rig = await halfOpen()
    const [first] = [rig.send(), rig.send()]

    await first.end(kind)
    const sent = [rig.send(), rig.send()]

    expect(sent.map(({ passed }) => passed)).toEqual([true, false])
    expect(rig.breaker.state).toBe('half-open')
  })

  test('after one that failed, all must go well again', async () => {
    const rig = await halfOpen()
    await rig.run(200, 502)
    vi.advanceTimersByTime(5_000)

    await rig.run(200)

    expect(rig.breaker.state).toBe('half-open')
    expect(rig.send().passed).toBe(true)
  })

  test('probes without a verdict for openFor make room for as many more, of which enough going well close it', async () => {
    const rig = await halfOpen()
    const held = [rig.send(), rig.send()]
    vi.advanceTimersByTime(4_999)
    const early = rig.send().passed
    vi.advanceTimersByTime(1)

    const more = [rig.send(), rig.send(), rig.send()]
    await Promise.all(more.slice(0, 2).map((each) => each.end(200)))

    expect(early).toBe(false)
    expect([...held, ...more].map(({ passed }) => passed)).toEqual([true, true, true, true, false])
    expect(rig.breaker.state).toBe('closed')
  })

  test('a probe that was too slow to wait for still opens it', async () => {
    const rig = await halfOpen()
    const [held] = [rig.send(), rig.send()]
    vi.advanceTimersByTime(5_000)
    rig.send()

    await held.end(500)

    expect(rig.breaker.state).toBe('open')
  })

  test('what began when it was closed is no probe', async () => {
    const rig = new Rig()
    const [well, badly] = [rig.send(), rig.send()]
    await rig.run(500, 500, 500, 500)
    vi.advanceTimersByTime(5_000)
    const probe = rig.send()

    await well.end(200)
    await badly.end(500)

    expect(rig.breaker.state).toBe('half-open')
    await probe.end(200)
    await rig.run(200)
    expect(rig.breaker.state).toBe('closed')
  })

  test('a probe of an earlier half-open state is none of this one', async () => {
    const rig = await halfOpen()
    const late = rig.send()
    await rig.run(500)
    vi.advanceTimersByTime(5_000)
    const sent = [rig.send(), rig.send()]

    await late.end(500)

    expect(rig.breaker.state).toBe('half-open')
    expect(sent.map(({ passed }) => passed)).toEqual([true, true])
    expect(rig.send().passed).toBe(false)
  })
})

describe('why it is open', () => {
  const at = 'http://a'
  const sentTo = (endpoint: string) => {
    const exchange = fakeExchange()
    exchange.attempts.last = attemptRecord({ endpoint })
    return exchange
  }

  test('is in each rejection: the last request that failed, at which endpoint', async () => {
    const rig = new Rig({ minRequests: 2 })
    await rig.send(sentTo(at)).end(503)
    await rig.send(sentTo(at)).end('connect-failed')

    const rejected = await rig.send().settled

    expect(rejected).toMatchObject({ kind: 'circuit-open', cause: { message: `${at}: connect-failed` } })
    expect(rig.breaker.lastFailure?.report).toMatchObject({ endpoint: at, kind: 'connect-failed', status: null })
  })

  test('is remembered over every probe, and the outage is as old as the first failure since the last success', async () => {
    const rig = new Rig()
    await rig.run(500, 200)
    vi.advanceTimersByTime(100)
    const began = Date.now()
    await rig.run(500)
    vi.advanceTimersByTime(900)
    await rig.run(500, 500)

    for (let flip = 0; flip < 5; flip++) {
      vi.advanceTimersByTime(5_000)
      await rig.send(sentTo(at)).end('headers-timeout')
      expect([rig.breaker.state, rig.breaker.outageSince]).toEqual(['open', began])
      expect(await rig.send().settled).toMatchObject({ cause: { message: `${at}: headers-timeout` } })
    }
    vi.advanceTimersByTime(5_000)
    await rig.run(200)
    expect([rig.breaker.state, rig.breaker.outageSince]).toEqual(['half-open', began])
    await rig.run(200)
    expect([rig.breaker.state, rig.breaker.outageSince]).toEqual(['closed', null])
  })
})

describe('whatever happens', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('send' as const) }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 900, 5_000, 12_000) }),
    fc.record({
      do: fc.constant('end' as const),
      which: fc.nat(20),
      how: fc.constantFrom<End>(200, 500, 500, 'headers-timeout', 'client-gone'),
    }),
  )

  test('nothing passes while open, no more than the probes for each openFor while half-open, and it recovers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 150 }), fc.integer({ min: 1, max: 4 }), async (steps, probes) => {
        const rig = new Rig({ probes })
        const pending: { sent: Sent; state: BreakerState; changes: number }[] = []
        let waitedMs = 0

        for (const each of steps) {
          if (each.do === 'wait') vi.advanceTimersByTime(each.ms)
          if (each.do === 'wait') waitedMs += each.ms
          if (each.do === 'send') {
            const { state } = rig.breaker
            const sent = rig.send()
            if (state === 'open') expect(sent.passed).toBe(false)
            if (state === 'closed') expect(sent.passed).toBe(true)
            if (sent.passed) pending.push({ sent, state, changes: rig.changes.length })
          }
          if (each.do === 'end' && pending.length > 0) {
            const [ended] = pending.splice(each.which % pending.length, 1)
            await ended?.sent.end(each.how)
          }
          const probing = pending.filter(
            ({ state, changes }) => state === 'half-open' && changes === rig.changes.length,
          )
          expect(probing.length).toBeLessThanOrEqual(probes * (1 + Math.floor(waitedMs / config.openFor)))
        }

        for (const { sent } of pending) await sent.end('client-gone')
        vi.advanceTimersByTime(config.openFor + config.window)
        await rig.run(...new Array<End>(probes).fill(200))
        expect(rig.breaker.state).toBe('closed')
      }),
      { numRuns: 50 },
    )
  })
})

test('a deadline that ends while requests wait for a place says nothing about the upstream', async () => {
  const rig = new Rig()

  for (const endedInQueue of [true, true, true, true, true, true, false, false]) {
    const exchange = Object.assign(fakeExchange(), { attempts: fakeAttempts({ count: 1 }), endedInQueue })
    await rig.send(exchange).end('deadline-exceeded')
  }
  expect(rig.breaker.state).toBe('closed')
  for (let n = 0; n < 2; n++)
    await rig.send(Object.assign(fakeExchange(), { attempts: fakeAttempts({ count: 1 }) })).end('deadline-exceeded')

  expect(rig.breaker.state).toBe('open')
})
