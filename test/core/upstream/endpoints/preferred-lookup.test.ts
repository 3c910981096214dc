import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { preferredLookup } from '../../../../src/core/upstream/endpoints/dns.ts'
import { createConnector } from '../../../../src/core/upstream/http1/connector.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const at = (address: string): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })

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

  test.each(all)('connects to that address while it is there (%s)', async (first) => {
    const port = await listening(...all)

    expect(await connecting(port, first, all)).toBe(first)
  })

  test('falls back to one that does not refuse, of the same family', async () => {
    const port = await listening('127.0.0.2')

    expect(await connecting(port, '127.0.0.1', all)).toBe('127.0.0.2')
  })

  test.skipIf(!hasIpv6).each([
    ['127.0.0.1', '::1', ['127.0.0.1', '::1']],
    ['::1', '127.0.0.2', ['127.0.0.2', '::1']],
    ['127.0.0.2', '::1', all],
  ])('falls back when %s refuses to one of the other family (%s)', async (first, there, known) => {
    const port = await listening(there)

    expect(await connecting(port, first, known)).toBe(there)
  })

  test('is connect-failed when all refuse', async () => {
    expect(await connecting(await freePort(), '127.0.0.2', all)).toBe('connect-failed')
  })
})
