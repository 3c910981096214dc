import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import {
  maxProxyHeaderBytes,
  type ProxyHeader,
  parseProxyHeader,
} from '../../../src/features/proxy-protocol/proxy-header.ts'
import { proxySignature, proxyV1, proxyV2, proxyV2Raw, tlv } from '../../helpers/proxy-protocol.ts'

const parse = (text: string | Buffer) => parseProxyHeader(Buffer.from(text as string, 'latin1'))

const reasonOf = (text: string | Buffer): string | null => {
  const parsed = parse(text)
  if (!(parsed instanceof GatewayError)) throw new Error(`taken: ${JSON.stringify(parsed)}`)
  return parsed.reason
}

const full = '20010db8000000000000000000000001'.replace(/(.{4})(?!$)/g, '$1:')
const longest = Array(8).fill('ffff').join(':')
const rest = 'GET / HTTP/1.1\r\n\r\n'

describe('a header names its client', () => {
  test.each<[string, Buffer, string]>([
    ['version 1, IPv4', proxyV1('192.0.2.7'), '192.0.2.7'],
    ['version 1, IPv6 in any spelling', proxyV1('2001:0DB8:0:0::1'), '2001:db8::1'],
    ['version 1, IPv4 in IPv6', proxyV1('::ffff:192.0.2.7'), '192.0.2.7'],
    ['version 1, the longest line of all', proxyV1(longest, longest), longest],
    ['version 2, IPv4', proxyV2('192.0.2.7'), '192.0.2.7'],
    ['version 2, IPv6', proxyV2(full), '2001:db8::1'],
    ['version 2, IPv4 in IPv6', proxyV2('0000:0000:0000:0000:0000:ffff:c000:0207'), '192.0.2.7'],
    ['version 2, with fields of no meaning here', proxyV2('192.0.2.7', tlv(0xea, 'vpce-1'), tlv(4, '')), '192.0.2.7'],
  ])('%s', (_, header, address) => {
    const parsed = { length: header.length, origin: 'client', address, authority: null, secure: null }
    expect(parse(Buffer.concat([header, Buffer.from(rest)]))).toEqual(parsed)
  })
})

describe('a header names no client', () => {
  const block = Buffer.alloc(216, 7)

  test.each<[string, Buffer, ProxyHeader['origin']]>([
    ['version 1, UNKNOWN', Buffer.from('PROXY UNKNOWN\r\n'), 'unknown'],
    ['version 1, UNKNOWN with addresses', Buffer.from('PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n'), 'unknown'],
    ['version 2, LOCAL', proxyV2Raw(0, 0, Buffer.alloc(0)), 'local'],
    ['version 2, LOCAL with an address, which is ignored', proxyV2Raw(0, 0x11, block.subarray(0, 12)), 'local'],
    ['version 2, LOCAL of a family that does not exist', proxyV2Raw(0, 0xff, block), 'local'],
    ['version 2, unspecified', proxyV2Raw(1, 0, Buffer.alloc(0)), 'unknown'],
    ['version 2, a Unix socket', proxyV2Raw(1, 0x31, block), 'unknown'],
    ['version 2, a datagram', proxyV2Raw(1, 0x12, block.subarray(0, 12)), 'unknown'],
  ])('%s', (_, header, origin) => {
    expect(parse(header)).toEqual({ length: header.length, origin, address: null, authority: null, secure: null })
  })
})

describe('a name behind the addresses', () => {
  const authorityOf = (name: string | Buffer): unknown =>
    (parse(proxyV2('192.0.2.7', tlv(2, name))) as ProxyHeader).authority

  test.each(['gateway.example', 'gateway.example:8443', '[::1]:8443', 'a'.repeat(255)])(
    'the name behind the addresses is kept: %s',
    (name) => {
      expect(authorityOf(name)).toBe(name)
    },
  )

  test.each(['', 'a b', 'a"b', 'a\nb', 'ä.example', 'a'.repeat(256), Buffer.from([0xff])])(
    'a malformed name behind the addresses is left out: %j',
    (name) => {
      expect(authorityOf(name)).toBeNull()
    },
  )
})

// proxy-protocol.txt §2.2.6: PP2_CLIENT_SSL is the lowest bit of the first byte; four bytes on a certificate, and more
// fields, follow.
describe('TLS between the client and the load balancer', () => {
  const ssl = (client: number, ...more: readonly Buffer[]): Buffer =>
    tlv(0x20, Buffer.concat([Buffer.from([client, 0, 0, 0, 0]), ...more]))
  const secureOf = (...tlvs: readonly Buffer[]): unknown => (parse(proxyV2('192.0.2.7', ...tlvs)) as ProxyHeader).secure

  test.each([
    ['as HAProxy says it', [ssl(1, tlv(0x21, 'TLSv1.3'))], true],
    ['with a certificate, and behind other fields', [tlv(1, 'h2'), tlv(2, 'a'), ssl(7)], true],
    ['that is none', [ssl(0)], false],
    ['that is none, though a certificate is said to be', [ssl(6)], false],
    ['of which nothing is said', [tlv(2, 'a')], null],
  ])('%s', (_, tlvs, secure) => {
    expect(secureOf(...tlvs)).toBe(secure)
  })

  test.each([0, 1, 4])('a TLS entry of only %i bytes makes the header malformed', (length) => {
    expect(reasonOf(proxyV2('192.0.2.7', tlv(0x20, Buffer.alloc(length, 1))))).toBe('bad-proxy-header')
  })

  test('the TLS entry in the load balancer’s own connection is not read', () => {
    const block = Buffer.concat([Buffer.alloc(12), ssl(1)])

    expect(parse(proxyV2Raw(0, 0x11, block))).toMatchObject({ origin: 'local', secure: null })
  })
})

describe('a checksum', () => {
  // The CRC32c (RFC 9260 appendix A) of the header with four zeros in its place, computed by another program.
  const good = proxyV2('192.0.2.7', tlv(3, Buffer.from('058e8249', 'hex')))

  test('a correct checksum is accepted', () => {
    expect(parse(good)).toMatchObject({ origin: 'client', address: '192.0.2.7' })
  })

  test('a wrong checksum is rejected, whichever bit of the header is wrong', () => {
    fc.assert(
      fc.property(fc.integer({ min: 16, max: 27 }), fc.integer({ min: 0, max: 7 }), (at, bit) => {
        const bad = Buffer.from(good)
        bad[at] = (bad[at] as number) ^ (1 << bit)

        expect(reasonOf(bad)).toBe('bad-proxy-header')
      }),
    )
  })

  test('a checksum of another size is rejected', () => {
    expect(reasonOf(proxyV2('192.0.2.7', tlv(3, 'abc')))).toBe('bad-proxy-header')
  })
})

describe('what is no header', () => {
  test.each([rest, 'POST /', 'PROX ', 'PROXY\r\n', 'proxy TCP4 ', '\r\n\r\nGET', '\x16\x03\x01', '\0', ' PROXY TCP4'])(
    '%j is rejected as no header',
    (text) => {
      expect(reasonOf(text)).toBe('no-proxy-header')
    },
  )
})

describe('a header that breaks the protocol is rejected', () => {
  const v1 = 'PROXY TCP4 192.0.2.7 192.0.2.8 56324 443'
  const tampered = (at: number, byte: number): Buffer => {
    const header = proxyV2('192.0.2.7')
    header[at] = byte
    return header
  }

  test.each<[string, string | Buffer]>([
    ['a line that ends in LF', `${v1}\n`],
    ['a line that ends in CR', `${v1}\rGET`],
    ['a line that goes on and on', `PROXY UNKNOWN ${'x'.repeat(93)}`],
    ['a line whose end is one byte too late', `PROXY UNKNOWN ${'x'.repeat(92)}\r\n`],
    ['an unknown family', `${v1.replace('TCP4', 'TCP5')}\r\n`],
    ['a family in small letters', `${v1.replace('TCP4', 'tcp4')}\r\n`],
    ['two spaces', `${v1.replace(' 192', '  192')}\r\n`],
    ['a space at the end', `${v1} \r\n`],
    ['a tab', `${v1.replace(' 192', '\t192')}\r\n`],
    ['a missing port', 'PROXY TCP4 192.0.2.7 192.0.2.8 56324\r\n'],
    ['one field more', `${v1} 1\r\n`],
    ['a port that is none', `${v1.replace('56324', '65536')}\r\n`],
    ['a port with a zero in front', `${v1.replace('443', '0443')}\r\n`],
    ['a negative port', `${v1.replace('443', '-1')}\r\n`],
    ['an address of the other family', `${v1.replace('192.0.2.7', '2001:db8::1')}\r\n`],
    ['a destination of the other family', `${v1.replace('192.0.2.8', '2001:db8::1')}\r\n`],
    ['an IPv4 address under TCP6', `${v1.replace('TCP4', 'TCP6')}\r\n`],
    ['an address in octal', `${v1.replace('192.0.2.7', '0300.0.2.7')}\r\n`],
    ['a name', `${v1.replace('192.0.2.7', 'localhost')}\r\n`],
    ['an address with a zone', 'PROXY TCP6 fe80::1%eth0 fe80::2 1 2\r\n'],
    ['an address in brackets', 'PROXY TCP6 [::1] [::1] 1 2\r\n'],
    ['a list of addresses', `${v1.replace('192.0.2.7', '192.0.2.7,6.6.6.6')}\r\n`],
    ['an empty line', 'PROXY \r\n'],
    ['version 1 in binary', tampered(12, 0x11)],
    ['version 3', tampered(12, 0x31)],
    ['an unknown command', tampered(12, 0x22)],
    ['an unknown address family', tampered(13, 0x41)],
    ['an unknown transport', tampered(13, 0x13)],
    ['a block too short for its addresses', proxyV2Raw(1, 0x11, Buffer.alloc(11))],
    ['a block too short for its IPv6 addresses', proxyV2Raw(1, 0x21, Buffer.alloc(35))],
    ['half a field behind the addresses', proxyV2('192.0.2.7', Buffer.from([4]))],
    ['a field that is longer than what is there', proxyV2('192.0.2.7', Buffer.from([4, 0, 2, 0]))],
    ['a header that says it is too long, before it has come', proxyV2Raw(1, 0x11, Buffer.alloc(0), 537)],
    ['a header that says it is endless', proxyV2Raw(0, 0, Buffer.alloc(0), 65_535)],
  ])('%s', (_, text) => {
    expect(reasonOf(text)).toBe('bad-proxy-header')
  })

  test('an incomplete header is awaited up to the maximum length, and no longer', () => {
    expect(parse(`PROXY UNKNOWN ${'x'.repeat(91)}\r\n`)).toMatchObject({ length: 107 })
    expect(parse(`PROXY UNKNOWN ${'x'.repeat(92)}`)).toBeNull()
    expect(parse(proxyV2Raw(1, 0x11, Buffer.alloc(535), 536))).toBeNull()
    expect(parse(proxyV2Raw(0, 0, Buffer.alloc(536)))).toMatchObject({ length: maxProxyHeaderBytes })
  })
})

const field = fc
  .tuple(fc.integer({ min: 4, max: 255 }), fc.uint8Array({ maxLength: 40 }))
  .map(([type, value]) => tlv(type, Buffer.from(value)))
const headers = fc.oneof(
  fc.oneof(fc.ipV4(), fc.ipV6()).map((address) => proxyV1(address)),
  fc.tuple(fc.ipV4(), fc.array(field, { maxLength: 8 })).map(([address, fields]) => proxyV2(address, ...fields)),
)

test('a header is read exactly, whatever follows it, and not before its last byte has come', () => {
  fc.assert(
    fc.property(headers, fc.uint8Array(), (header, more) => {
      expect(parse(Buffer.concat([header, more]))).toMatchObject({ length: header.length, origin: 'client' })
      for (let cut = 0; cut < header.length; cut++) expect(parse(header.subarray(0, cut))).toBeNull()
    }),
  )
})

test('random bytes are rejected, or awaited up to the maximum length, and never throw', () => {
  const begun = Buffer.concat([proxySignature, Buffer.from([0x21, 0x11, 0])])
  const start = fc.constantFrom(
    Buffer.alloc(0),
    Buffer.from('PROXY '),
    Buffer.from('PROXY TCP4 '),
    proxySignature,
    begun,
  )
  fc.assert(
    fc.property(start, fc.uint8Array({ maxLength: 700 }), (prefix, noise) => {
      const bytes = Buffer.concat([prefix, noise])
      const parsed = parseProxyHeader(bytes)

      if (parsed === null) expect(bytes.length).toBeLessThan(maxProxyHeaderBytes)
      else if (parsed instanceof GatewayError) expect(['no-proxy-header', 'bad-proxy-header']).toContain(parsed.reason)
      else expect(parsed.length).toBeLessThanOrEqual(Math.min(bytes.length, maxProxyHeaderBytes))
    }),
    { numRuns: 1000 },
  )
})
