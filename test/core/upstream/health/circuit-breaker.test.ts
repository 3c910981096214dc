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

  get state(): BreakerState {
    return this.breaker.state
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

  /** Sends so many at once, and returns which passed. */
  passes(count: number): boolean[] {
    return Array.from({ length: count }, () => this.send().passed)
  }

  /** Sends one request after the other. */
  async run(...ends: End[]): Promise<void> {
    for (const how of ends) await this.send().end(how)
  }
}

/** Creates a breaker that has just opened. */
const opened = async (): Promise<Rig> => {
  const rig = new Rig()
  await rig.run(500, 500, 500, 500)
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
    const before = rig.state

    await rig.run(503)

    expect([before, rig.state, rig.changes, rig.breaker.since]).toEqual(['closed', 'open', ['open'], Date.now()])
  })

  const six = (how: End): End[] => new Array<End>(6).fill(how)

  test.each<[string, BreakerState, ...End[]]>([
    ['fewer requests than the minimum', 'closed', 500, 500, 500],
    ['a success that makes them enough', 'open', 500, 500, 500, 200],
    ['a smaller share of failures', 'closed', 200, 200, 200, 500, 500, 200, 200, 500, 500],
    ['clients that leave', 'closed', ...six('client-gone')],
    ['requests that found no room', 'closed', ...six('overloaded')],
    ['defects of the gateway', 'closed', ...six('internal')],
    ['what was not connected, or did not respond', 'open', 'connect-failed', 'headers-timeout', 500, 500],
    ['what is malformed', 'open', ...six('bad-response').slice(2)],
  ])('after %s it is %s', async (_, state, ...ends) => {
    const rig = new Rig()

    await rig.run(...ends)

    expect(rig.state).toBe(state)
  })

  test('failures that are older than the window do not count', async () => {
    const rig = new Rig()

    await rig.run(500, 500, 500)
    vi.advanceTimersByTime(10_000)
    await rig.run(500, 500, 500)

    expect(rig.state).toBe('closed')
  })

  test('a throw that is no failure of the gateway is passed on, and says nothing', async () => {
    const rig = new Rig()
    const broken = rig.breaker.layer(() => {
      throw new TypeError('a defect')
    })

    for (let i = 0; i < 6; i++) await expect(broken(fakeExchange())).rejects.toThrow(TypeError)

    expect(rig.state).toBe('closed')
  })

  test('a deadline that ends while requests wait for a place says nothing about the upstream', async () => {
    const rig = new Rig()
    const states: BreakerState[] = []

    for (const endedInQueue of [...new Array<boolean>(6).fill(true), false, false, false, false]) {
      const exchange = Object.assign(fakeExchange(), { attempts: fakeAttempts({ count: 1 }), endedInQueue })
      await rig.send(exchange).end('deadline-exceeded')
      states.push(rig.state)
    }

    expect(states).toEqual([...new Array(9).fill('closed'), 'open'])
  })
})

describe('open', () => {
  test.each([
    ['says when something may', 1_500, '4'],
    ['is at least a second', 4_999, '1'],
  ])('nothing passes, and Retry-After %s', async (_, ms, seconds) => {
    const rig = await opened()
    vi.advanceTimersByTime(ms)

    const { passed, settled } = rig.send()

    const rejection = { kind: 'circuit-open', status: 503, fields: ['Retry-After', seconds] }
    expect([passed, await settled]).toMatchObject([false, rejection])
  })

  test('what was on its way does not count, nor open it anew', async () => {
    const rig = new Rig()
    const late = [rig.send(), rig.send()]
    await rig.run(500, 500, 500, 500)
    const { since } = rig.breaker
    vi.advanceTimersByTime(1_000)

    for (const each of late) await each.end(500)

    expect([rig.state, rig.breaker.since, rig.changes]).toEqual(['open', since, ['open']])
  })

  test('it is half-open as soon as its time is over, though it was not read', async () => {
    const rig = await opened()
    const { since } = rig.breaker

    vi.advanceTimersByTime(60_000)

    expect([rig.state, rig.breaker.since]).toEqual(['half-open', since + 5_000])
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

    expect(rig.passes(2)).toEqual([true, true])
    expect(await rig.send().settled).toMatchObject({ kind: 'circuit-open', fields: ['Retry-After', '1'] })
    expect(rig.changes).toEqual(['open', 'half-open'])
  })

  test('each change is reported', async () => {
    const rig = await halfOpen()

    await rig.run(502)
    vi.advanceTimersByTime(5_000)
    await rig.run(200, 200)

    expect(rig.changes).toEqual(['open', 'half-open', 'open', 'half-open', 'closed'])
  })

  // Numbers are statuses one after the other, `wait 10` is 10 ms that pass.
  test.each<[string, string, BreakerState, boolean]>([
    ['it closes when all probes went well', '200, 404', 'closed', true],
    ['it begins with an empty window then', '200, 404, 500, 500, 500', 'closed', true],
    ['one that fails opens it', '200, 502', 'open', false],
    ['it is open for the whole time', '200, 502, wait 4999', 'open', false],
    ['all must go well again after that', '200, 502, wait 5000, 200', 'half-open', true],
  ])('%s', async (_, steps, state, passed) => {
    const rig = await halfOpen()

    for (const step of steps.split(', ')) {
      if (step.startsWith('wait')) vi.advanceTimersByTime(Number(step.slice(4)))
      else await rig.run(Number(step))
    }

    expect([rig.state, rig.send().passed]).toEqual([state, passed])
  })

  test('one probe that went well does not make room for a third', async () => {
    const rig = await halfOpen()
    await rig.run(200)

    expect(rig.passes(2)).toEqual([true, false])
  })

  test.each<FailureKind>(['client-gone', 'overloaded'])('%s gives its place to another', async (kind) => {
    const rig = await halfOpen()
    const [first] = [rig.send(), rig.send()]

    await first.end(kind)

    expect(rig.passes(2)).toEqual([true, false])
    expect(rig.state).toBe('half-open')
  })

  test('probes without a verdict for openFor make room for as many more, of which enough going well close it', async () => {
    const rig = await halfOpen()
    rig.passes(2)
    vi.advanceTimersByTime(4_999)
    const early = rig.send().passed
    vi.advanceTimersByTime(1)

    const more = [rig.send(), rig.send(), rig.send()]
    await Promise.all(more.slice(0, 2).map((each) => each.end(200)))

    expect([early, ...more.map(({ passed }) => passed)]).toEqual([false, true, true, false])
    expect(rig.state).toBe('closed')
  })

  test('a probe that was too slow to wait for still opens it', async () => {
    const rig = await halfOpen()
    const [held] = [rig.send(), rig.send()]
    vi.advanceTimersByTime(5_000)
    rig.send()

    await held.end(500)

    expect(rig.state).toBe('open')
  })

  test('what began when it was closed is no probe', async () => {
    const rig = new Rig()
    const [well, badly] = [rig.send(), rig.send()]
    await rig.run(500, 500, 500, 500)
    vi.advanceTimersByTime(5_000)
    const probe = rig.send()

    await well.end(200)
    await badly.end(500)

    expect(rig.state).toBe('half-open')
    await probe.end(200)
    await rig.run(200)
    expect(rig.state).toBe('closed')
  })

  test('a probe of an earlier half-open state is none of this one', async () => {
    const rig = await halfOpen()
    const late = rig.send()
    await rig.run(500)
    vi.advanceTimersByTime(5_000)
    const passed = rig.passes(2)

    await late.end(500)

    expect(rig.state).toBe('half-open')
    expect([...passed, rig.send().passed]).toEqual([true, true, false])
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
    const outage = () => [rig.state, rig.breaker.outageSince]
    await rig.run(500, 200)
    vi.advanceTimersByTime(100)
    const began = Date.now()
    await rig.run(500)
    vi.advanceTimersByTime(900)
    await rig.run(500, 500)

    for (let flip = 0; flip < 3; flip++) {
      vi.advanceTimersByTime(5_000)
      await rig.send(sentTo(at)).end('headers-timeout')
      expect(outage()).toEqual(['open', began])
      expect(await rig.send().settled).toMatchObject({ cause: { message: `${at}: headers-timeout` } })
    }
    vi.advanceTimersByTime(5_000)
    await rig.run(200)
    expect(outage()).toEqual(['half-open', began])
    await rig.run(200)
    expect(outage()).toEqual(['closed', null])
  })
})
