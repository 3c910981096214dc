import type { Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ListenConfig } from '../../../../src/core/config/config.ts'
import { createPeer, setConnectionClaims } from '../../../../src/core/downstream/listener/listener-config.ts'
import { compileForwarded, getClientAddress, type Peer } from '../../../../src/core/downstream/request/forwarded.ts'
import { emptyForwarded, type ForwardedFields } from '../../../../src/core/downstream/request/request-head.ts'
import { canonicalAddress, cidrMatcher } from '../../../../src/core/lib/net/addresses.ts'

/** Of one byte, and some beyond. */
const anyCharacter = fc.constantFrom(
  ...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)),
  ...'\u0130\u2028\u202e€\ud800😀',
)

describe('Forwarded', () => {
  const isTrusted = cidrMatcher(['10.0.0.0/8', 'fd00::/8'])
  const proxy: Peer = { address: '10.0.0.1', trusted: true, secure: false, inFlight: 1, certificate: () => null }

  const read = (fields: Partial<ForwardedFields>, mode: ListenConfig['forwarded'] = 'rfc7239') => {
    const claims = compileForwarded(mode, isTrusted)?.(proxy, { ...emptyForwarded, ...fields })
    if (claims === undefined) throw new Error('it is not read')
    return claims
  }

  describe('the client', () => {
    test.each<[string, string, string]>([
      ['is whom the proxy names', 'for=203.0.113.1', '203.0.113.1'],
      ['may have a port, in quotes', 'for="203.0.113.1:4711"', '203.0.113.1'],
      ['may have a port that is hidden', 'for="203.0.113.1:_x"', '203.0.113.1'],
      ['may be IPv6, in brackets and quotes', 'for="[2001:DB8:0::1]"', '2001:db8::1'],
      ['may be IPv6 with a port', 'for="[2001:db8::1]:4711"', '2001:db8::1'],
      ['may be IPv4 in IPv6', 'for="[::ffff:203.0.113.1]"', '203.0.113.1'],
      [
        'may stand among other parameters, in any order',
        'proto=http;by=10.0.0.1;FOR=203.0.113.1;ext="a,b;c"',
        '203.0.113.1',
      ],
      ['may be quoted without need, and with backslashes', 'for="203\\.0.113.1"', '203.0.113.1'],
      ['may stand before a semicolon at the end', 'for=6.6.6.6;, for=203.0.113.1;proto=http;', '203.0.113.1'],
      ['may stand behind a semicolon', 'for=6.6.6.6, ;for=203.0.113.1', '203.0.113.1'],
      ['may stand between empty pairs', ';;proto=http;;for=203.0.113.1;;', '203.0.113.1'],
      ['is the rightmost that is not trusted', 'for=1.1.1.1, for=203.0.113.1, for=10.9.9.9', '203.0.113.1'],
      ['is the leftmost when all are trusted', 'for=10.0.0.3, for="[fd00::1]:80"', '10.0.0.3'],
      [
        'needs no space behind the comma, and may have more',
        'for=203.0.113.1,for=10.0.0.2 \t,\t for=10.0.0.3 ',
        '203.0.113.1',
      ],
      ['is found behind a quotation mark that a client left open', 'for=", for=203.0.113.1', '203.0.113.1'],
      ['is found behind an open mark, where the proxy quotes', 'for=x;y=", for="[2001:db8::1]"', '2001:db8::1'],
      ['is found behind an escaped mark', 'for="a\\", for=203.0.113.1', '203.0.113.1'],
      ['is found behind garbage', '\\";=,,"=, for=203.0.113.1', '203.0.113.1'],
      ['is the last one known behind an unknown one', 'for=203.0.113.1, for=unknown, for=10.0.0.2', '10.0.0.2'],
      ['is the last one known behind a hidden one', 'for=203.0.113.1, for=_hidden, for=10.0.0.2', '10.0.0.2'],
      ['is the last one known behind an element without it', 'for=203.0.113.1, proto=https, for=10.0.0.2', '10.0.0.2'],
      ['is the last one known behind an empty element', 'for=203.0.113.1, , for=10.0.0.2', '10.0.0.2'],
      ['is the proxy when it is unknown', 'for=unknown', '10.0.0.1'],
      ['is the proxy when the field is empty', '', '10.0.0.1'],
      ['is not IPv6 without quotes', 'for=[2001:db8::1]', '10.0.0.1'],
      ['is not IPv6 without brackets', 'for="2001:db8::1"', '10.0.0.1'],
      ['is not IPv4 in brackets', 'for="[203.0.113.1]"', '10.0.0.1'],
      ['has no zone', 'for="[fe80::1%eth0]"', '10.0.0.1'],
      ['has no port without quotes', 'for=203.0.113.1:4711', '10.0.0.1'],
      ['is not in octal', 'for=0313.0.113.1', '10.0.0.1'],
      ['is not said twice', 'for=203.0.113.1;for=203.0.113.2', '10.0.0.1'],
      ['is not said twice with an empty pair between', 'for=203.0.113.1;;for=203.0.113.2', '10.0.0.1'],
      ['is not in semicolons alone', 'for=203.0.113.1, ;;', '10.0.0.1'],
      ['is not before a blank within an element', 'for=203.0.113.1; proto=http', '10.0.0.1'],
      ['has no blanks around the equals sign', 'for = 203.0.113.1', '10.0.0.1'],
      ['is no bare address', '203.0.113.1', '10.0.0.1'],
      ['is not behind what is no parameter', 'x for=203.0.113.1', '10.0.0.1'],
      ['is not in half a quotation', 'for="203.0.113.1', '10.0.0.1'],
      ['is not in a quotation that is escaped', 'for=\\"203.0.113.1"', '10.0.0.1'],
    ])('%s', (_, forwarded, client) => {
      expect(read({ forwarded }).client).toBe(client)
    })

    test('is what the nearest proxies have written, whatever stands to the left of it', () => {
      const outside = fc.oneof(fc.ipV4(), fc.ipV6()).filter((address) => !isTrusted(canonicalAddress(address) ?? ''))
      const node = (address: string): string => (address.includes(':') ? `"[${address}]"` : address)
      fc.assert(
        fc.property(
          fc.array(fc.string({ unit: fc.constantFrom('"', '\\', ',', ';', '=', 'for=', ' ', '1.2.3.4', 'a') })),
          outside,
          fc.array(fc.nat(255)),
          (forged, client, proxies) => {
            const field = [
              ...forged,
              ...[client, ...proxies.map((last) => `10.0.0.${last}`)].map((each) => `for=${node(each)}`),
            ]

            expect(read({ forwarded: field.join(', ') }).client).toBe(canonicalAddress(client))
          },
        ),
      )
    })

    test('is found in every well-formed field, whatever stands beside it', () => {
      const quoted = fc
        .array(fc.tuple(fc.constantFrom(...'a="\\,; \t\x80[]:1.'), fc.boolean()), { maxLength: 8 })
        .map(
          (all) => `"${all.map(([c, isEscaped]) => (isEscaped || c === '"' || c === '\\' ? `\\${c}` : c)).join('')}"`,
        )
      const value = fc.oneof(fc.string({ unit: fc.constantFrom(..."aB!#$%&'*+.^_`|~0-"), minLength: 1 }), quoted)
      const beside = fc.uniqueArray(fc.constantFrom('by', 'ext', 'x!', 'y'))
      const element = fc
        .tuple(beside, beside, fc.array(value, { minLength: 4, maxLength: 4 }))
        .map(([one, other, values]) =>
          [
            ...one.map((name, nth) => `${name}1=${values[nth]}`),
            'For="10.9.9.9:80"',
            ...other.map((name, nth) => `${name}2=${values[nth]}`),
          ].join(';'),
        )
      fc.assert(
        fc.property(fc.array(element), fc.constantFrom(',', ' ,\t', ';, ;'), (elements, between) => {
          expect(read({ forwarded: ['for=203.0.113.1', ...elements].join(between) }).client).toBe('203.0.113.1')
        }),
      )
    })

    test('never holds what could end a log line, and what goes on is well-formed', () => {
      fc.assert(
        fc.property(fc.string({ unit: anyCharacter }), (forwarded) => {
          const claims = read({ forwarded })

          expect(claims.client).toMatch(/^[0-9a-f.:]+$/)
          expect(claims.render(false, 'a')).toMatch(/^for=[^\s,]+(?:, for=[^\s,]+)*$/)
        }),
      )
    })

    // Where time grew with the square of the length, this would not end.
    test('is found in the longest fields there may be', () => {
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

  describe('scheme and host', () => {
    test.each<[string, string, string | null, string | null]>([
      [
        'are those of the client’s own hop',
        'for=203.0.113.1;proto=https;host=shop, for=10.0.0.2;proto=http;host=inner',
        'https',
        'shop',
      ],
      [
        'are those of a nearer hop when that says neither',
        'for=203.0.113.1, for=10.0.0.2;proto=https;host="shop:8443"',
        'https',
        'shop:8443',
      ],
      [
        'are believed of a proxy that names no client',
        'for=6.6.6.6;proto=http, proto=HTTPS;host=shop',
        'https',
        'shop',
      ],
      ['are not those that a client wrote', 'for=6.6.6.6;proto=https;host=evil, for=203.0.113.1', null, null],
      ['are not what is none', 'for=203.0.113.1;proto=gopher;host="a b"', null, null],
    ])('%s', (_, forwarded, proto, host) => {
      expect(read({ forwarded }).fields).toMatchObject({ proto, host })
    })
  })

  describe('what goes to upstreams', () => {
    test.each<[string, string, string, string]>([
      [
        'is the client with its hop, then every proxy',
        'for=6.6.6.6, for=203.0.113.1;proto=https;host=shop, for="[fd00::1]:80"',
        '203.0.113.1, fd00::1',
        'for=203.0.113.1;proto=https;host="shop", for="[fd00::1]", for=10.0.0.1',
      ],
      ['is the proxy alone when nothing is known', 'for=unknown', '', 'for=10.0.0.1;proto=http;host="asked:80"'],
    ])('%s', (_, forwarded, forwardedFor, rendered) => {
      const claims = read({ forwarded, for: '6.6.6.6', proto: 'evil', host: 'evil' })

      expect(claims.fields.for ?? '').toBe(forwardedFor)
      expect(claims.render(false, 'asked:80')).toBe(rendered)
    })
  })

  describe('where both are read', () => {
    const both = (fields: Partial<ForwardedFields>) => read(fields, 'both')

    test.each<[string, Partial<ForwardedFields>, string]>([
      ['Forwarded alone', { forwarded: 'for=203.0.113.1' }, '203.0.113.1'],
      ['X-Forwarded-For alone', { for: '203.0.113.1, 10.0.0.2' }, '203.0.113.1'],
      ['both, if they agree', { forwarded: 'for=203.0.113.1', for: '1.1.1.1, 203.0.113.1, 10.0.0.2' }, '203.0.113.1'],
      ['neither', { proto: 'https' }, '10.0.0.1'],
    ])('the client is that of %s', (_, fields, client) => {
      expect(both(fields)).toMatchObject({ client, error: null })
    })

    test('Forwarded wins where the other one says less', () => {
      const { fields } = both({
        forwarded: 'for=203.0.113.1;proto=https;host=shop',
        for: '203.0.113.1',
        proto: 'https',
      })

      expect(fields).toMatchObject({ proto: 'https', host: 'shop' })
    })

    test.each<[string, Partial<ForwardedFields>]>([
      ['another client', { forwarded: 'for=6.6.6.6', for: '203.0.113.1' }],
      ['none', { forwarded: 'for=unknown', for: '203.0.113.1' }],
      ['another host', { forwarded: 'for=203.0.113.1;host=evil', for: '203.0.113.1', host: 'shop' }],
      ['another scheme', { forwarded: 'for=203.0.113.1;proto=http', for: '203.0.113.1', proto: 'https' }],
    ])('a request in which they name %s is refused, and is the proxy’s', (_, fields) => {
      const claims = both(fields)

      expect(claims).toMatchObject({ client: '10.0.0.1', error: { reason: 'forwarded-contradiction' } })
    })

    test('nothing that a proxy wrote into X-Forwarded-* gets into Forwarded unless it is what it should be', () => {
      const claims = both({ for: '203.0.113.1', proto: 'http;for=6.6.6.6', host: 'a";for=6.6.6.6' })

      expect(claims.render(true, 'asked')).toBe('for=203.0.113.1;proto=https, for=10.0.0.1')
    })
  })
})

describe('X-Forwarded-For', () => {
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
        fc.property(fc.string({ unit: anyCharacter }), (field) => {
          expect(getClientAddress(proxy, field, isTrusted)).toMatch(/^[0-9a-fA-F.:]+(?:%[^\s,]+)?$/)
        }),
      )
    })
  })
})
