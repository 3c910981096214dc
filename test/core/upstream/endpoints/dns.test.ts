import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { preferredLookup, startDnsRefresh } from '../../../../src/core/upstream/endpoints/dns.ts'
import { createConnector } from '../../../../src/core/upstream/http1/connector.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const at = (address: string): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })

const intervalMs = 30_000

describe('a name', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  type Reply = readonly string[] | Error | 'never'

  const notFound: Error = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
  const again: Error = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })

  /**
   * Resolves a name by a script, whose last line holds for ever; returns when it was looked up and what was reported.
   * `middle`: without jitter.
   */
  const startScript = async (replies: readonly Reply[], middle = true) => {
    if (middle) vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const startedAt = performance.now()
    const lookedUpAt: number[] = []
    const reported: string[] = []
    const stop = startDnsRefresh(
      'a.test',
      intervalMs,
      {
        onResolved: (known) => reported.push(known.map(({ address }) => address).join()),
        onFailure: (reason) => reported.push(reason),
      },
      async () => {
        const reply = replies[Math.min(lookedUpAt.length, replies.length - 1)] as Reply
        lookedUpAt.push(performance.now() - startedAt)
        if (reply === 'never') return new Promise(() => {})
        if (reply instanceof Error) throw reply
        return reply.map(at)
      },
    )
    onTestFinished(stop)
    await vi.advanceTimersByTimeAsync(0)
    return { stop, lookedUpAt, reported }
  }

  test('is resolved at once, and then every interval', async () => {
    const { lookedUpAt, reported } = await startScript([['192.0.2.1']])
    const first = [...reported]

    await vi.advanceTimersByTimeAsync(2 * intervalMs)

    expect(first).toEqual(['192.0.2.1'])
    expect(lookedUpAt).toEqual([0, intervalMs, 2 * intervalMs])
  })

  test('is resolved a little earlier or later, at random, by a tenth at most', async () => {
    const { lookedUpAt } = await startScript([['192.0.2.1']], false)

    await vi.advanceTimersByTimeAsync(100 * intervalMs)

    const waits = lookedUpAt.slice(1).map((each, nth) => each - (lookedUpAt[nth] ?? 0))
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(0.9 * intervalMs)
    expect(Math.max(...waits)).toBeLessThanOrEqual(1.1 * intervalMs + 1)
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(0.05 * intervalMs)
  })

  test('that has the same addresses in another order, or twice, is reported once', async () => {
    const { reported } = await startScript([
      ['192.0.2.1', '2001:db8::1'],
      ['2001:db8::1', '192.0.2.1'],
      ['192.0.2.1', '192.0.2.1', '2001:db8::1'],
    ])

    await vi.advanceTimersByTimeAsync(3 * intervalMs)

    expect(reported).toEqual(['192.0.2.1,2001:db8::1'])
  })

  test('that has one more, one less or another is reported each time', async () => {
    const one = ['192.0.2.1']
    const { reported } = await startScript([one, ['192.0.2.1', '192.0.2.2'], ['192.0.2.2'], ['192.0.2.3'], one])

    await vi.advanceTimersByTimeAsync(5 * intervalMs)

    expect(reported).toEqual(['192.0.2.1', '192.0.2.1,192.0.2.2', '192.0.2.2', '192.0.2.3', '192.0.2.1'])
  })

  test('that does not resolve is tried again after 1 s, 2 s, 4 s … up to the interval', async () => {
    const { lookedUpAt, reported } = await startScript([notFound])

    await vi.advanceTimersByTimeAsync(100_000)

    expect(lookedUpAt).toEqual([0, 1000, 3000, 7000, 15_000, 31_000, 61_000, 91_000])
    expect(reported).toEqual(['the name of the endpoint does not resolve (ENOTFOUND)'])
  })

  test('that resolved once starts over with 1 s when it fails', async () => {
    const { lookedUpAt } = await startScript([notFound, notFound, ['192.0.2.1'], notFound, ['192.0.2.1']])

    await vi.advanceTimersByTimeAsync(3000 + 2 * intervalMs)

    expect(lookedUpAt).toEqual([0, 1000, 3000, 33_000, 34_000])
  })

  test('that fails is reported once for each reason until it resolves again, and then too', async () => {
    const { reported } = await startScript([
      ['192.0.2.1'],
      notFound,
      notFound,
      again,
      notFound,
      ['192.0.2.1'],
      notFound,
    ])

    await vi.advanceTimersByTimeAsync(10 * intervalMs)

    expect(reported).toEqual([
      ...['192.0.2.1', 'the name of the endpoint does not resolve (ENOTFOUND)'],
      ...['the name server does not answer (EAI_AGAIN)', 'the name of the endpoint does not resolve (ENOTFOUND)'],
      ...['192.0.2.1', 'the name of the endpoint does not resolve (ENOTFOUND)'],
    ])
  })

  test('without any address does not resolve', async () => {
    const { reported } = await startScript([[]])

    expect(reported).toEqual(['it has no address'])
  })

  test('is never looked up while it is being looked up', async () => {
    const { lookedUpAt } = await startScript([['192.0.2.1'], 'never'])

    await vi.advanceTimersByTimeAsync(10 * intervalMs)

    expect(lookedUpAt).toEqual([0, intervalMs])
  })

  test.each<[string, Reply]>([
    ['known', ['192.0.2.1']],
    ['unknown', notFound],
  ])('that is %s is not looked up any more when it is closed, and leaves no timer', async (_, reply) => {
    const { stop, lookedUpAt } = await startScript([reply])

    stop()
    await vi.advanceTimersByTimeAsync(10 * intervalMs)

    expect(lookedUpAt).toEqual([0])
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each<[string, Reply]>([
    ['an address', ['192.0.2.1']],
    ['a failure', notFound],
  ])('that is closed while it is looked up reports nothing of %s', async (_, reply) => {
    const reported: unknown[] = []
    const callbacks = {
      onResolved: (known: unknown) => reported.push(known),
      onFailure: (reason: unknown) => reported.push(reason),
    }
    const stop = startDnsRefresh('a.test', intervalMs, callbacks, async () => {
      if (reply instanceof Error) throw reply
      return (reply as readonly string[]).map(at)
    })

    stop()
    await vi.advanceTimersByTimeAsync(10 * intervalMs)

    expect(reported).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('the system', () => {
  test('is asked, the hosts file included', async () => {
    const known = await new Promise<readonly LookupAddress[]>((resolve, reject) => {
      const on = { onResolved: resolve, onFailure: (reason: string) => reject(new Error(reason)) }
      const stop = startDnsRefresh('localhost', intervalMs, on)
      onTestFinished(stop)
    })

    expect(known.map(({ address }) => address)).toContain('127.0.0.1')
  })

  test('says that a name does not exist', async () => {
    const reason = await new Promise<string>((resolve) => {
      const stop = startDnsRefresh('nowhere.invalid', intervalMs, { onResolved: () => {}, onFailure: resolve })
      onTestFinished(stop)
    })

    expect(reason).toMatch(/\((ENOTFOUND|EAI_AGAIN)\)$/)
  })
})

// Not every container has an IPv6 loopback.
const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))

describe('a preferred lookup', () => {
  const [a, b, c] = [at('192.0.2.1'), at('192.0.2.2'), at('2001:db8::1')] as const

  test('gives that address first, then the others of both families', () => {
    const results: unknown[] = []

    preferredLookup(b, [a, b, c])('a.test', { all: true }, (...result) => results.push(result))

    expect(results).toEqual([[null, [b, a, c]]])
  })

  test('gives that address alone to a caller that asks for one', () => {
    const results: unknown[] = []

    preferredLookup(c, [a, b, c])('a.test', {}, (...result) => results.push(result))

    expect(results).toEqual([[null, '2001:db8::1', 6]])
  })

  /** Opens listeners on one port of several addresses. */
  const listening = async (...addresses: readonly string[]): Promise<number> => {
    let port = 0
    for (const host of addresses) {
      const server = createServer((socket) => socket.on('error', () => {}).end())
      await once(server.listen(port, host), 'listening')
      onTestFinished(() => void server.close())
      port = (server.address() as AddressInfo).port
    }
    return port
  }

  /** Connects to a name by these addresses; resolves to the address it got to, or the failure. */
  const connecting = (port: number, first: string, all: readonly string[]) =>
    new Promise<string>((resolve) => {
      const { tls } = upstreamConfig('http://unused.invalid')
      const connect = createConnector(`http://a.test:${port}`, tls, 5000)(preferredLookup(at(first), all.map(at)))
      connect((error, socket) => {
        resolve(error === null ? `${socket?.remoteAddress}` : error.kind)
        socket?.destroy()
      })
    })

  const all = ['127.0.0.1', '127.0.0.2', ...(hasIpv6 ? ['::1'] : [])]

  test.skipIf(!hasIpv6).each([
    ['127.0.0.1', '::1', ['127.0.0.1', '::1']],
    ['::1', '127.0.0.2', ['127.0.0.2', '::1']],
    ['127.0.0.2', '::1', all],
  ])('falls back when %s refuses to one of the other family (%s)', async (first, there, known) => {
    const port = await listening(there)

    expect(await connecting(port, first, known)).toBe(there)
  })
})
