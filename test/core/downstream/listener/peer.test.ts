import type { Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPeer, setConnectionClaims } from '../../../../src/core/downstream/listener/listener-config.ts'
import { getClientAddress, type Peer } from '../../../../src/core/downstream/request/forwarded.ts'
import { cidrMatcher } from '../../../../src/core/lib/net/addresses.ts'

const isTrusted = cidrMatcher(['10.0.0.0/8', '192.0.2.7', 'fd00::/8'])
const certificate = () => null
const said = { length: 28, address: null, isAnonymous: false, authority: null }
const proxy: Peer = { address: '10.0.0.1', trusted: true, secure: false, inFlight: 1, certificate }
const untrusted: Peer = { address: '203.0.113.9', trusted: false, secure: false, inFlight: 1, certificate }

describe('a trusted proxy', () => {
  test.each(['10.0.0.0', '10.255.255.255', '192.0.2.7', 'fd00::1', 'fdff::1'])('is %s', (address) => {
    expect(isTrusted(address)).toBe(true)
  })

  test.each(['9.255.255.255', '11.0.0.0', '192.0.2.8', 'fc00::1', 'fe80::1', '::1', '127.0.0.1', '', 'x'])(
    'is not %j',
    (address) => {
      expect(isTrusted(address)).toBe(false)
    },
  )

  test('is no address when none is configured', () => {
    const matchesNone = cidrMatcher([])

    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        expect(matchesNone(address)).toBe(false)
      }),
    )
  })

  test('is every address when every network is configured', () => {
    const matchesAll = cidrMatcher(['0.0.0.0/0', '::/0'])

    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        expect(matchesAll(address)).toBe(true)
      }),
    )
  })
})

describe('the other end of a connection', () => {
  const socket = (remoteAddress?: string, encrypted?: boolean) =>
    ({ remoteAddress, encrypted }) as Socket & { encrypted: boolean }

  test('over an IPv6 socket with an IPv4 address is written and judged as IPv4', () => {
    expect(createPeer(socket('::ffff:10.1.2.3'), isTrusted)).toMatchObject({
      address: '10.1.2.3',
      trusted: true,
      secure: false,
    })
  })

  test.each([
    [false, undefined, false],
    [false, false, false],
    [false, true, true],
    [true, undefined, true],
    // HAProxy says so of TLS that it only passes on.
    [true, false, true],
    [true, true, true],
  ])('speaks TLS: here %s, in front, as was said there, %s: %s', (here, inFront, expected) => {
    const connection = socket('10.1.2.3', here)
    if (inFront !== undefined) setConnectionClaims(connection, { ...said, isSecure: () => inFront })

    expect(createPeer(connection, isTrusted).secure).toBe(expected)
  })

  test('that speaks TLS in front has shown no certificate here', () => {
    const connection = Object.assign(socket('10.1.2.3'), {
      authorized: true,
      getPeerX509Certificate: () => expect.unreachable(),
    })
    setConnectionClaims(connection, { ...said, isSecure: () => true })

    expect(createPeer(connection, isTrusted).certificate()).toBeNull()
  })

  test('of a connection that has closed has no address', () => {
    expect(createPeer(socket(), isTrusted)).toMatchObject({ address: '', trusted: false, secure: false })
  })

  test('on a link-local address with a zone is not trusted', () => {
    expect(createPeer(socket('fe80::1%eth0'), isTrusted).trusted).toBe(false)
  })

  test('is secure when the socket is encrypted', () => {
    expect(createPeer(socket('10.0.0.1', true), isTrusted).secure).toBe(true)
  })
})

describe('the client', () => {
  test.each<[string, string | null, string]>([
    ['is the proxy when it says nothing', null, '10.0.0.1'],
    ['is whom the proxy names', '203.0.113.1', '203.0.113.1'],
    ['is the rightmost that is not trusted', '1.1.1.1, 203.0.113.1, 10.9.9.9', '203.0.113.1'],
    ['is not what a client made up on the left', '127.0.0.1, 10.0.0.5, 203.0.113.1', '203.0.113.1'],
    ['is the leftmost when all are trusted', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['may be IPv6', '2001:db8::1', '2001:db8::1'],
    ['may be IPv6 in brackets', '[2001:db8::1]', '2001:db8::1'],
    ['may be IPv6 in brackets with a port', '[2001:db8::1]:4711', '2001:db8::1'],
    ['may be IPv4 with a port', '203.0.113.1:4711', '203.0.113.1'],
    ['may be IPv4 written as IPv6', '::ffff:203.0.113.1', '203.0.113.1'],
    ['may be IPv4 written as IPv6 in any spelling', '0:0:0:0:0:FFFF:cb00:7101', '203.0.113.1'],
    ['is one however IPv6 is spelled', '2001:0DB8:0:0::1%eth0', '2001:db8::1'],
    ['is without its zone, however long', `2001:db8::1%${'x'.repeat(100)}`, '2001:db8::1'],
    ['is looked for behind a trusted proxy written as IPv6', '203.0.113.1, ::ffff:10.0.0.2', '203.0.113.1'],
    ['is looked for behind a trusted IPv6 proxy with a port', '203.0.113.1, [fd00::1]:80', '203.0.113.1'],
    ['needs no space behind the comma', '203.0.113.1,10.0.0.2', '203.0.113.1'],
    ['is the last one known when an entry is empty', '203.0.113.1, , 10.0.0.2', '10.0.0.2'],
    ['is the last one known when an entry is garbage', '203.0.113.1, unknown, 10.0.0.2', '10.0.0.2'],
    ['is the proxy when all is garbage', 'unknown', '10.0.0.1'],
    ['is the proxy when the field is empty', '', '10.0.0.1'],
    ['is not what is quoted', '"203.0.113.1"', '10.0.0.1'],
    ['is not an address with a zone of another host', '203.0.113.1, 256.1.1.1', '10.0.0.1'],
    ['is not in octal', '0177.0.0.1', '10.0.0.1'],
    ['is not a name', 'localhost', '10.0.0.1'],
  ])('%s', (_, field, client) => {
    expect(getClientAddress(proxy, field, isTrusted)).toBe(client)
  })

  test('is the peer itself when the peer is not trusted, whatever the field says', () => {
    fc.assert(
      fc.property(fc.string(), (field) => {
        expect(getClientAddress(untrusted, field, isTrusted)).toBe(untrusted.address)
      }),
    )
  })

  test('is the first untrusted address from the right, whatever stands to the left of it', () => {
    const outside = fc.ipV4().filter((address) => !isTrusted(address))
    const inside = fc.nat(255).map((last) => `10.0.0.${last}`)
    fc.assert(
      fc.property(fc.array(fc.string()), outside, fc.array(inside), (forged, client, proxies) => {
        const field = [...forged, client, ...proxies].join(', ')

        expect(getClientAddress(proxy, field, isTrusted)).toBe(client)
      }),
    )
  })

  test('never holds what could end a log line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (field) => {
        expect(getClientAddress(proxy, field, isTrusted)).toMatch(/^[0-9a-fA-F.:]+(?:%[^\s,]+)?$/)
      }),
    )
  })
})
