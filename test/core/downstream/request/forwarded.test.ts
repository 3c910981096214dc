import type { Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ListenConfig } from '../../../../src/core/config/config.ts'
import { createPeer, setConnectionClaims } from '../../../../src/core/downstream/listener/listener-config.ts'
import { compileForwarded, getClientAddress, type Peer } from '../../../../src/core/downstream/request/forwarded.ts'
import { emptyForwarded, type ForwardedFields } from '../../../../src/core/downstream/request/request-head.ts'
import { cidrMatcher } from '../../../../src/core/lib/net/addresses.ts'
import { anyCharacter } from '../../../helpers/any-character.ts'

const certificate = () => null
const proxy: Peer = { address: '10.0.0.1', trusted: true, secure: false, inFlight: 1, certificate }

describe('Forwarded', () => {
  const isTrusted = cidrMatcher(['10.0.0.0/8', 'fd00::/8'])

  const read = (fields: Partial<ForwardedFields>, mode: ListenConfig['forwarded'] = 'rfc7239') => {
    const claims = compileForwarded(mode, isTrusted)?.(proxy, { ...emptyForwarded, ...fields })
    if (claims === undefined) throw new Error('it is not read')
    return claims
  }

  describe('the client', () => {
    test.each(
      Object.entries({
        '203.0.113.1': [
          ...['for=203.0.113.1', 'for="203.0.113.1:4711"', 'for="203.0.113.1:_x"', 'for="[::ffff:203.0.113.1]"'],
          // among other parameters, quoted without need, beside semicolons and empty pairs,
          ...['proto=http;by=10.0.0.1;FOR=203.0.113.1;ext="a,b;c"', 'for="203\\.0.113.1"'],
          ...['for=6.6.6.6;, for=203.0.113.1;proto=http;', 'for=6.6.6.6, ;for=203.0.113.1'],
          ...[';;proto=http;;for=203.0.113.1;;', 'for=203.0.113.1,for=10.0.0.2 \t,\t for=10.0.0.3 '],
          // the rightmost that is not trusted, and behind what a client left open, escaped or garbled.
          ...['for=1.1.1.1, for=203.0.113.1, for=10.9.9.9', 'for=", for=203.0.113.1', 'for="a\\", for=203.0.113.1'],
          '\\";=,,"=, for=203.0.113.1',
        ],
        '2001:db8::1': [...['for="[2001:DB8:0::1]"', 'for="[2001:db8::1]:4711"', 'for=x;y=", for="[2001:db8::1]"']],
        // The leftmost when all are trusted.
        '10.0.0.3': ['for=10.0.0.3, for="[fd00::1]:80"'],
        // The last known address behind an unknown, hidden, missing or empty one.
        '10.0.0.2': [
          ...['for=203.0.113.1, for=unknown, for=10.0.0.2', 'for=203.0.113.1, for=_hidden, for=10.0.0.2'],
          ...['for=203.0.113.1, proto=https, for=10.0.0.2', 'for=203.0.113.1, , for=10.0.0.2'],
        ],
        // The proxy itself where there is no valid address.
        '10.0.0.1': [
          ...['for=unknown', '', 'for=[2001:db8::1]', 'for="2001:db8::1"', 'for="[203.0.113.1]"'],
          ...['for="[fe80::1%eth0]"'],
          ...['for=203.0.113.1:4711', 'for=0313.0.113.1', 'for=203.0.113.1;for=203.0.113.2', 'for=203.0.113.1, ;;'],
          ...['for=203.0.113.1;;for=203.0.113.2', 'for=203.0.113.1; proto=http', 'for = 203.0.113.1', '203.0.113.1'],
          ...['x for=203.0.113.1', 'for="203.0.113.1', 'for=\\"203.0.113.1"'],
        ],
      }).flatMap(([client, texts]) => texts.map((text) => [client, text])),
    )('is %s in %s', (client, forwarded) => {
      expect(read({ forwarded }).client).toBe(client)
    })

    test('the client is the address behind all that a client forged, and never holds a character that ends a log line', () => {
      const parts = fc.constantFrom('"', '\\', ',', ';', '=', 'for=', ' ', '1.2.3.4', 'a')
      const forged = fc.oneof(fc.string({ unit: parts }), fc.string({ unit: anyCharacter }))
      fc.assert(
        fc.property(forged, (text) => {
          const claims = read({ forwarded: text })

          expect(claims.client).toMatch(/^[0-9a-f.:]+$/)
          expect(claims.render(false, 'a')).toMatch(/^for=[^\s,]+(?:, for=[^\s,]+)*$/)
          expect(read({ forwarded: `${text}, for=203.0.113.1, for=10.0.0.2` }).client).toBe('203.0.113.1')
        }),
      )
    })

    // Time that grew with the square of the length would not end.
    test('the client is found in fields of the maximum length', () => {
      const fillings = [' ', '"', '\\"', ',', ';', 'a', 'a=b;', '="', '=","'].map((part) =>
        part.repeat((128 * 1024) / part.length),
      )

      const clients = fillings.flatMap((filling) => [
        read({ forwarded: `${filling}, for=203.0.113.1` }).client,
        read({ forwarded: `for="${filling}"` }).client,
      ])

      expect(new Set(clients)).toEqual(new Set(['203.0.113.1', '10.0.0.1']))
      expect(read({ forwarded: new Array(10_000).fill('for=10.0.0.2').join() }).client).toBe('10.0.0.2')
    })
  })

  test.each<[string, string, string | null, string | null]>([
    [
      'those of the client’s own hop',
      ...(['for=203.0.113.1;proto=https;host=shop, for=10.0.0.2;proto=http;host=inner', 'https', 'shop'] as const),
    ],
    [
      'those of a nearer hop when that says neither',
      ...(['for=203.0.113.1, for=10.0.0.2;proto=https;host="shop:8443"', 'https', 'shop:8443'] as const),
    ],
    ['believed of a proxy that names no client', 'for=6.6.6.6;proto=http, proto=HTTPS;host=shop', 'https', 'shop'],
    ['not those that a client wrote', 'for=6.6.6.6;proto=https;host=evil, for=203.0.113.1', null, null],
    ['not what is none', 'for=203.0.113.1;proto=gopher;host="a b"', null, null],
  ])('the scheme and the host of Forwarded are %s', (_, forwarded, proto, host) => {
    expect(read({ forwarded }).fields).toMatchObject({ proto, host })
  })

  test.each<[string, string, string, string]>([
    [
      'the client with its hop, then every proxy',
      'for=6.6.6.6, for=203.0.113.1;proto=https;host=shop, for="[fd00::1]:80"',
      '203.0.113.1, fd00::1',
      'for=203.0.113.1;proto=https;host="shop", for="[fd00::1]", for=10.0.0.1',
    ],
    ['the proxy alone when nothing is known', 'for=unknown', '', 'for=10.0.0.1;proto=http;host="asked:80"'],
  ])('the Forwarded field to upstreams is %s', (_, forwarded, forwardedFor, rendered) => {
    const claims = read({ forwarded, for: '6.6.6.6', proto: 'evil', host: 'evil' })

    expect([claims.fields.for ?? '', claims.render(false, 'asked:80')]).toEqual([forwardedFor, rendered])
  })

  describe('where both are read', () => {
    const both = (fields: Partial<ForwardedFields>) => read(fields, 'both')
    const contradiction = { client: '10.0.0.1', error: { reason: 'forwarded-contradiction' } }
    const client = { client: '203.0.113.1', error: null }

    test.each<[string, Partial<ForwardedFields>, object]>([
      ['Forwarded alone', { forwarded: 'for=203.0.113.1' }, client],
      ['X-Forwarded-For alone', { for: '203.0.113.1, 10.0.0.2' }, client],
      ['both, if they agree', { forwarded: 'for=203.0.113.1', for: '1.1.1.1, 203.0.113.1, 10.0.0.2' }, client],
      ['neither', { proto: 'https' }, { client: '10.0.0.1', error: null }],
      ['none, with another client', { forwarded: 'for=6.6.6.6', for: '203.0.113.1' }, contradiction],
      ['none, where one names none', { forwarded: 'for=unknown', for: '203.0.113.1' }, contradiction],
      [
        'none, with another host',
        { forwarded: 'for=203.0.113.1;host=evil', for: '203.0.113.1', host: 'shop' },
        contradiction,
      ],
      [
        'none, with another scheme',
        { forwarded: 'for=203.0.113.1;proto=http', for: '203.0.113.1', proto: 'https' },
        contradiction,
      ],
    ])('the client is that of %s', (_, fields, expected) => {
      expect(both(fields)).toMatchObject(expected)
    })

    test('Forwarded wins where X-Forwarded-For says less', () => {
      const forwarded = 'for=203.0.113.1;proto=https;host=shop'

      const { fields } = both({ forwarded, for: '203.0.113.1', proto: 'https' })

      expect(fields).toMatchObject({ proto: 'https', host: 'shop' })
    })

    test('a value of X-Forwarded-* goes into Forwarded only if it is valid', () => {
      const claims = both({ for: '203.0.113.1', proto: 'http;for=6.6.6.6', host: 'a";for=6.6.6.6' })

      expect(claims.render(true, 'asked')).toBe('for=203.0.113.1;proto=https, for=10.0.0.1')
    })
  })
})

describe('X-Forwarded-For', () => {
  const isTrusted = cidrMatcher(['10.0.0.0/8', '192.0.2.7', 'fd00::/8'])
  const said = { length: 28, address: null, isAnonymous: false, authority: null }

  test('a trusted proxy is an address of a configured network', () => {
    const trusted = ['10.0.0.0', '10.255.255.255', '192.0.2.7', 'fd00::1', 'fdff::1']
    const others = ['9.255.255.255', '11.0.0.0', '192.0.2.8', 'fc00::1', 'fe80::1', '::1', '127.0.0.1', '', 'x']

    expect([...trusted, ...others].filter(isTrusted)).toEqual(trusted)
  })

  describe('the other end of a connection', () => {
    const socket = (remoteAddress?: string, encrypted?: boolean) =>
      ({ remoteAddress, encrypted }) as Socket & { encrypted: boolean }

    test.each([
      ['with an IPv4 address on an IPv6 socket is IPv4', '::ffff:10.1.2.3', '10.1.2.3', true],
      ['of a connection that has closed has no address', undefined, '', false],
      ['on a link-local address with a zone is not trusted', 'fe80::1%eth0', 'fe80::1%eth0', false],
    ])('%s', (_, remote, address, trusted) => {
      expect(createPeer(socket(remote), isTrusted)).toMatchObject({ address, trusted, secure: false })
    })

    test.each([
      [false, undefined, false],
      [false, false, false],
      [false, true, true],
      [true, undefined, true],
      // HAProxy says so of TLS that it only passes on.
      [true, false, true],
      [true, true, true],
    ])('the client speaks TLS: here %s, with the load balancer in front %s: %s', (here, inFront, expected) => {
      const connection = socket('10.1.2.3', here)
      if (inFront !== undefined) setConnectionClaims(connection, { ...said, isSecure: () => inFront })

      expect(createPeer(connection, isTrusted).secure).toBe(expected)
    })

    test('a client of a load balancer that speaks TLS has no certificate here', () => {
      const getPeerX509Certificate = () => expect.unreachable()
      const connection = Object.assign(socket('10.1.2.3'), { authorized: true, getPeerX509Certificate })
      setConnectionClaims(connection, { ...said, isSecure: () => true })

      expect(createPeer(connection, isTrusted).certificate()).toBeNull()
    })
  })

  describe('the client', () => {
    test.each<[string, string | null]>([
      ...['203.0.113.1', '203.0.113.1:4711', '203.0.113.1,10.0.0.2', '::ffff:203.0.113.1'].map(
        (field): [string, string] => ['203.0.113.1', field],
      ),
      // The rightmost untrusted address, not the one that a client made up on the left.
      ['203.0.113.1', '1.1.1.1, 203.0.113.1, 10.9.9.9'],
      ['203.0.113.1', '127.0.0.1, 10.0.0.5, 203.0.113.1'],
      // Whatever the spelling.
      ['203.0.113.1', '0:0:0:0:0:FFFF:cb00:7101'],
      ['203.0.113.1', '203.0.113.1, ::ffff:10.0.0.2'],
      ['203.0.113.1', '203.0.113.1, [fd00::1]:80'],
      ['2001:db8::1', '2001:db8::1'],
      ['2001:db8::1', '[2001:db8::1]'],
      ['2001:db8::1', '[2001:db8::1]:4711'],
      ['2001:db8::1', '2001:0DB8:0:0::1%eth0'],
      ['2001:db8::1', `2001:db8::1%${'x'.repeat(100)}`],
      // The leftmost when all are trusted; the last known one before an empty or malformed one; else the proxy.
      ['10.0.0.3', '10.0.0.3, 10.0.0.2'],
      ['10.0.0.2', '203.0.113.1, , 10.0.0.2'],
      ['10.0.0.2', '203.0.113.1, unknown, 10.0.0.2'],
      ...['unknown', '', '"203.0.113.1"', '203.0.113.1, 256.1.1.1', '0177.0.0.1', 'localhost', null].map(
        (field): [string, string | null] => ['10.0.0.1', field],
      ),
    ])('the client is %s in %j', (client, field) => {
      expect(getClientAddress(proxy, field, isTrusted)).toBe(client)
    })

    test('the client is an untrusted peer, or the address behind all that a client forged, and is safe in a log', () => {
      const untrusted: Peer = { ...proxy, address: '203.0.113.9', trusted: false }
      fc.assert(
        fc.property(fc.string({ unit: anyCharacter }), (field) => {
          expect(getClientAddress(untrusted, field, isTrusted)).toBe('203.0.113.9')
          expect(getClientAddress(proxy, `${field}, 203.0.113.1, 10.0.0.2`, isTrusted)).toBe('203.0.113.1')
          expect(getClientAddress(proxy, field, isTrusted)).toMatch(/^[0-9a-fA-F.:]+(?:%[^\s,]+)?$/)
        }),
      )
    })
  })
})
