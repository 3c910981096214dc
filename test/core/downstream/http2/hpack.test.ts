/** HPACK (RFC 7541): its own examples, broken blocks, and decoding of encoded blocks. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HpackDecoder } from '../../../../src/core/downstream/http2/hpack/decoder.ts'
import { HpackEncoder, maxBlockBytes } from '../../../../src/core/downstream/http2/hpack/encoder.ts'
import { fieldKinds, type HpackField } from '../../../../src/core/downstream/http2/hpack/field.ts'
import { ConnectionError } from '../../../../src/core/downstream/http2/http2-error.ts'

const large = 64 * 1024

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(/\s/g, ''), 'hex')

/** Decodes a block, as name, value, name, value, … */
const decode = (decoder: HpackDecoder, block: Buffer, maxListSize = large): string[] => {
  const fields: HpackField[] = []
  decoder.decode(block, 0, block.length, fields, maxListSize)
  return fields.flatMap(({ name, value }) => [name, value])
}

const encode = (encoder: HpackEncoder, status: string, fields: readonly string[]): Buffer => {
  const out = Buffer.alloc(maxBlockBytes(fields))
  return out.subarray(0, encoder.encode(out, 0, status, fields))
}

describe('the examples of RFC 7541, appendix C', () => {
  test.each([
    ['C.2.1', '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', 'custom-key', 'custom-header', 55],
    ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', ':path', '/sample/path', 0],
    ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', 'password', 'secret', 0],
    ['C.2.4', '82', ':method', 'GET', 0],
  ])('%s', (_, hex, name, value, tableSize) => {
    const decoder = new HpackDecoder()

    expect(decode(decoder, bytesOf(hex))).toEqual([name, value])
    expect(decoder.tableSize).toBe(tableSize)
  })

  const first = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com']
  const second = [...first, 'cache-control', 'no-cache']
  const third = [
    ...[':method', 'GET', ':scheme', 'https', ':path', '/index.html', ':authority', 'www.example.com'],
    ...['custom-key', 'custom-value'],
  ]

  test.each([
    [
      'C.3: requests without Huffman codes',
      [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
    ],
    [
      'C.4: the same with Huffman codes',
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
    ],
  ])('%s', (_, blocks) => {
    const decoder = new HpackDecoder()

    expect(blocks.map((hex) => decode(decoder, bytesOf(hex)))).toEqual([first, second, third])
    expect(decoder.tableSize).toBe(164)
  })

  test('C.6.1: a response with Huffman codes', () => {
    const block = bytesOf(
      '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
    )

    expect(decode(new HpackDecoder(), block)).toEqual([
      ...[':status', '302', 'cache-control', 'private', 'date', 'Mon, 21 Oct 2013 20:13:21 GMT'],
      ...['location', 'https://www.example.com'],
    ])
  })
})

describe('a block that ends its connection', () => {
  test.each([
    ['an index of 0', '80'],
    ['an index beyond the static table, with an empty one', 'be'],
    ['a name beyond the tables', '7f 00 00'],
    ['an integer without an end', 'ff ff ff ff ff ff 7f'],
    ['a string that ends early', '00 05 61'],
    ['a name alone', '00 01 61'],
    ['a literal alone', '40'],
    ['a table size update behind a field', '82 20'],
    ['three table sizes', '20 20 20 82'],
    ['a table size above the limit', '3f e2 1f'],
    ['a Huffman string with a padding of zeros', '00 01 61 81 18'],
    ['a Huffman string with a padding of a byte', '00 01 61 82 1f ff'],
    ['a Huffman string with its end within', '00 01 61 84 ff ff ff ff'],
  ])('%s', (_, hex) => {
    expect(() => decode(new HpackDecoder(), bytesOf(hex))).toThrow(ConnectionError)
  })

  test('random bytes cause no other error', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 4 }), (blocks) => {
        const decoder = new HpackDecoder()
        try {
          for (const block of blocks) decode(decoder, Buffer.from(block))
        } catch (error) {
          expect(error).toBeInstanceOf(ConnectionError)
        }
        expect(decoder.tableSize).toBeLessThanOrEqual(4096)
      }),
      { numRuns: 2000 },
    )
  })
})

test('a list above its limit is cut, and the table stays as the client has it', () => {
  const decoder = new HpackDecoder()
  const fields: HpackField[] = []
  const block = bytesOf('40 01 61 01 62 82 40 01 63 01 64')

  const isWhole = decoder.decode(block, 0, block.length, fields, 40)

  expect({ isWhole, names: fields.map(({ name }) => name) }).toEqual({ isWhole: false, names: ['a'] })
  expect(decode(decoder, bytesOf('be bf'))).toEqual(['c', 'd', 'a', 'b'])
})

test('the table evicts its oldest entries, and all of them for a field larger than the table', () => {
  const decoder = new HpackDecoder()
  const field = (name: string, length: number): Buffer =>
    Buffer.concat([Buffer.from([0x40, 1]), Buffer.from(name), encodeLength(length), Buffer.alloc(length, 'v')])

  decode(decoder, Buffer.concat([field('a', 2000), field('b', 2000), field('c', 20)]))
  expect(decode(decoder, bytesOf('be bf')).filter((_, i) => i % 2 === 0)).toEqual(['c', 'b'])
  expect(() => decode(decoder, bytesOf('c0'))).toThrow(ConnectionError)

  decode(decoder, field('d', 5000))
  expect(decoder.tableSize).toBe(0)
})

test('a smaller table size evicts entries, and later entries fit into it', () => {
  const decoder = new HpackDecoder()
  decode(decoder, bytesOf('40 01 61 01 62'))

  expect(decode(decoder, bytesOf('20 3f 45 40 01 63 01 64'))).toEqual(['c', 'd'])
  expect(decode(decoder, bytesOf('be'))).toEqual(['c', 'd'])
  expect(() => decode(decoder, bytesOf('bf'))).toThrow(ConnectionError)
})

// RFC 9113 §8.2.
test.each([
  ['x-a', 'a\tb c', 'plain'],
  ['x-a', '', 'plain'],
  ['x-a', 'caf\xe9', 'plain'],
  ['te', 'trailers', 'plain'],
  ['content-length', '12', 'contentLength'],
  [':path', '/', 'path'],
  ['cookie', 'a=b', 'cookie'],
  ['host', 'a', 'host'],
  ['x-a', ' a', 'badValue'],
  ['x-a', 'a\t', 'badValue'],
  ['x-a', 'a\r\nb', 'badValue'],
  ['cookie', 'a\0', 'badValue'],
  ['host', '\x7f', 'badValue'],
  [':path', '/\x7f', 'malformed'],
  ['Te', ' ', 'malformed'],
  ['X-A', 'a', 'malformed'],
  ['x a', 'a', 'malformed'],
  ['', 'a', 'malformed'],
  ['te', 'gzip', 'malformed'],
  ['connection', 'close', 'malformed'],
  ['keep-alive', '1', 'malformed'],
  ['proxy-connection', 'a', 'malformed'],
  ['transfer-encoding', 'chunked', 'malformed'],
  ['upgrade', 'a', 'malformed'],
  ['content-length', '+1', 'malformed'],
  ['content-length', '1, 1', 'malformed'],
  [':status', '200', 'malformed'],
  [':protocol', 'websocket', 'malformed'],
] as const)('a field %s with the value %j is %s', (name, value, kind) => {
  const block = Buffer.concat([Buffer.from([0]), text(name), text(value)])
  const fields: HpackField[] = []

  new HpackDecoder().decode(block, 0, block.length, fields, large)

  expect(fields.map((field) => field.kind)).toEqual([fieldKinds[kind]])
})

const headOf = fc.record({
  status: fc.constantFrom('200', '404', '502', '100'),
  fields: fc.array(
    fc.tuple(
      fc.constantFrom('Content-Type', 'etag', 'Set-Cookie', 'x-request-id', 'x-vendor', 'Age', 'vary'),
      fc.oneof(
        fc.constantFrom('application/json', 'a', ''),
        fc.string({ maxLength: 50 }),
        fc.constant('v'.repeat(2000)),
      ),
    ),
    { maxLength: 12 },
  ),
  tableSize: fc.option(fc.constantFrom(0, 100, 4096, 2 ** 20), { nil: null }),
})

test('a decoded block equals the encoded fields, whatever table sizes the client sets in between', () => {
  fc.assert(
    fc.property(fc.array(headOf, { maxLength: 8 }), (heads) => {
      const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder()]
      for (const { status, fields, tableSize } of heads) {
        if (tableSize !== null) encoder.limitTable(tableSize)
        const lines = fields.flat()

        const decoded = decode(decoder, encode(encoder, status, lines))

        expect(decoded).toEqual([
          ':status',
          status,
          ...lines.map((each, i) => (i % 2 === 0 ? each.toLowerCase() : each)),
        ])
      }
    }),
  )
})

test('a repeated field takes one byte, but a cookie is never indexed', () => {
  const encoder = new HpackEncoder()
  const fields = ['Content-Type', 'application/json', 'X-Vendor', 'a']

  expect(encode(encoder, '200', fields).length).toBeGreaterThan(20)
  expect(encode(encoder, '200', fields)).toEqual(bytesOf('88 bf be'))
  expect(encode(encoder, '200', ['Set-Cookie', 'a'])).toEqual(bytesOf('88 1f 28 01 61'))
  expect(encode(encoder, '200', ['Set-Cookie', 'a'])).toEqual(bytesOf('88 1f 28 01 61'))
})

// RFC 7541 §4.2.
test('the smallest table size in between is announced before the last', () => {
  const encoder = new HpackEncoder()
  for (const size of [4096, 0, 100]) encoder.limitTable(size)

  expect(encode(encoder, '200', [])).toEqual(bytesOf('20 3f 45 88'))
  expect(encode(encoder, '200', [])).toEqual(bytesOf('88'))
})

const encodeLength = (length: number): Buffer => {
  if (length < 127) return Buffer.from([length])
  const bytes = [127]
  let rest = length - 127
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest])
}

const text = (value: string): Buffer => Buffer.concat([encodeLength(value.length), Buffer.from(value, 'latin1')])
