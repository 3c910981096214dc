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

  const one = ['192.0.2.1']
  const two = ['192.0.2.1', '2001:db8::1']
  const isNotFound = 'the name of the endpoint does not resolve (ENOTFOUND)'
  const isSilent = 'the name server does not reply (EAI_AGAIN)'
  const toMs = (seconds: number): number => seconds * 1000
  const notFound: Error = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
  const again: Error = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })

  /**
   * Resolves a name by a script, whose last line holds for ever; returns when it was looked up and what was reported.
   * `middle`: without jitter.
   */
  const startScript = (replies: readonly Reply[], middle = true) => {
    if (middle) vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const startedAt = performance.now()
    const lookedUpAt: number[] = []
    const reported: string[] = []
    const callbacks = {
      onResolved: (known: readonly LookupAddress[]) => reported.push(known.map(({ address }) => address).join()),
      onFailure: (reason: string) => reported.push(reason),
    }
    const stop = startDnsRefresh('a.test', intervalMs, callbacks, async () => {
      const reply = replies[Math.min(lookedUpAt.length, replies.length - 1)] as Reply
      lookedUpAt.push(performance.now() - startedAt)
      if (reply === 'never') return new Promise(() => {})
      if (reply instanceof Error) throw reply
      return reply.map(at)
    })
    onTestFinished(stop)
    return { stop, lookedUpAt, reported }
  }

  test('is resolved a little earlier or later, at random, by a tenth at most', async () => {
    const { lookedUpAt } = startScript([['192.0.2.1']], false)

    await vi.advanceTimersByTimeAsync(100 * intervalMs)

    const waits = lookedUpAt.slice(1).map((each, nth) => each - (lookedUpAt[nth] ?? 0))
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(0.9 * intervalMs)
    expect(Math.max(...waits)).toBeLessThanOrEqual(1.1 * intervalMs + 1)
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(0.05 * intervalMs)
  })

  test.each<[string, readonly Reply[], number, readonly number[]]>([
    ['at once, and then every interval', [one], 2 * intervalMs, [0, intervalMs, 2 * intervalMs]],
    ['again after 1 s, 2 s, … up to the interval', [notFound], 100_000, [0, 1, 3, 7, 15, 31, 61, 91].map(toMs)],
    [
      'after 1 s again, when it has resolved',
      [notFound, notFound, one, notFound, one],
      63_000,
      [0, 1, 3, 33, 34].map(toMs),
    ],
    ['never while it is being looked up', [one, 'never'], 10 * intervalMs, [0, intervalMs]],
  ])('is looked up %s', async (_, replies, forMs, expected) => {
    const { lookedUpAt } = startScript(replies)

    await vi.advanceTimersByTimeAsync(forMs)

    expect(lookedUpAt).toEqual(expected)
  })

  test.each<[string, readonly Reply[], readonly string[]]>([
    ['once, with the same addresses in another order', [two, two.toReversed()], ['192.0.2.1,2001:db8::1']],
    ['once, with one of its addresses twice', [two, ['192.0.2.1', ...two]], ['192.0.2.1,2001:db8::1']],
    [
      'each time with one more, one less or another',
      [one, two, ['2001:db8::1'], ['192.0.2.3'], one],
      ['192.0.2.1', '192.0.2.1,2001:db8::1', '2001:db8::1', '192.0.2.3', '192.0.2.1'],
    ],
    [
      'once for each reason why it fails until it resolves again, and then too',
      [one, notFound, notFound, again, notFound, one, notFound],
      ['192.0.2.1', isNotFound, isSilent, isNotFound, '192.0.2.1', isNotFound],
    ],
    ['as one that does not resolve, without any address', [[]], ['it has no address']],
  ])('is reported %s', async (_, replies, expected) => {
    const { reported } = startScript(replies)

    await vi.advanceTimersByTimeAsync(10 * intervalMs)

    expect(reported).toEqual(expected)
  })

  test.each<[string, Reply, number]>([
    ['that is known', one, 1],
    ['that is unknown', notFound, 1],
    ['while it is looked up, to an address', one, 0],
    ['while it is looked up, to a failure', notFound, 0],
  ])('%s is not looked up any more when it is closed, and leaves nothing', async (_, reply, reports) => {
    const { stop, lookedUpAt, reported } = startScript([reply])
    if (reports > 0) await vi.advanceTimersByTimeAsync(0)

    stop()
    await vi.advanceTimersByTimeAsync(10 * intervalMs)

    expect([lookedUpAt, reported.length, vi.getTimerCount()]).toEqual([[0], reports, 0])
  })
})

test('the system is asked, the hosts file included, and says that a name does not exist', async () => {
  const refresh = (name: string) =>
    new Promise<string>((resolve) => {
      const onResolved = (known: readonly LookupAddress[]) => resolve(known.map(({ address }) => address).join())
      onTestFinished(startDnsRefresh(name, intervalMs, { onResolved, onFailure: resolve }))
    })

  expect(await refresh('localhost')).toContain('127.0.0.1')
  expect(await refresh('nowhere.invalid')).toMatch(/\((ENOTFOUND|EAI_AGAIN)\)$/)
})

// Not every container has an IPv6 loopback.
const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))

describe('a preferred lookup', () => {
  const [a, b, c] = [at('192.0.2.1'), at('192.0.2.2'), at('2001:db8::1')] as const

  test.each([
    ['first, then the others of both families', b, { all: true }, [null, [b, a, c]]],
    ['alone to a caller that asks for one', c, {}, [null, '2001:db8::1', 6]],
  ])('gives that address %s', (_, preferred, options, expected) => {
    const callback = vi.fn()

    preferredLookup(preferred, [a, b, c])('a.test', options, callback)

    expect(callback.mock.calls).toEqual([expected])
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
