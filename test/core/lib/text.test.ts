import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { doubleEscapes, escapeControls, escapeQuotedControls } from '../../../src/core/lib/text/escape-controls.ts'
import { humanizeSeconds } from '../../../src/core/lib/text/format-time.ts'
import {
  byteRates,
  durations,
  formatAge,
  formatRoundedSize,
  multiples,
  percentages,
  requestRates,
  sizes,
} from '../../../src/core/lib/text/units.ts'

const units = { durations, sizes, byteRates, requestRates, multiples, percentages }

describe.each<[keyof typeof units, Readonly<Record<string, unknown>>, readonly string[]]>([
  [
    'durations',
    { '250ms': 250, '2s': 2000, '1m': 60_000, '1h': 3_600_000, '0ms': 0 },
    ['2', '', 's', '1.5s', '-1s', '1 s', '1s ', '1S', '1d', '1e3s', '1m30s', '1constructor', '99999999999999h'],
  ],
  [
    'sizes',
    { '10B': 10, '64KiB': 65_536, '1MiB': 1_048_576, '1GiB': 1_073_741_824, '1TiB': 1_099_511_627_776 },
    ['64', '', 'KiB', '64K', '64KB', '64kib', '1.5MiB', '64 KiB', '-1B', '1toString', '9999999TiB'],
  ],
  ['byteRates', { '240B/s': 240, '1KiB/s': 1024 }, ['240B', '1KiB/m', '/s']],
  [
    'requestRates',
    { '100/s': { count: 100, perMs: 1000 }, '30/min': { count: 30, perMs: 60_000 }, '0/s': { count: 0, perMs: 1000 } },
    ['', '1', '/s', '1/h', '1.5/s', '-1/s', '1 /s', '1/sec', '1234567890/s'],
  ],
  [
    'multiples',
    { '2x': 2, '1.5x': 1.5, '100x': 100, '0.25x': 0.25 },
    ['2', '', 'x', '.5x', '2 x', '2X', '-2x', '1.234x', '1000x', 'x2'],
  ],
  [
    'percentages',
    { '0%': 0, '0.5%': 0.005, '33.333%': 0.33333, '100%': 1, '250%': 2.5 },
    ['10', '', '%', '.5%', '5.%', '-1%', '1 %', '1%%', '1e1%', '0.0001%', '1000%'],
  ],
])('%s', (name, texts, others) => {
  const unit: { parse(text: string): unknown; format(value: never): string } = units[name]

  test.each(Object.entries(texts))('%s is parsed as %o, and written back the same', (text, value) => {
    expect(unit.parse(text)).toEqual(value)
    expect(unit.format(value as never)).toBe(text)
  })

  test.each(others)('%j is not parsed', (text) => {
    expect(unit.parse(text)).toBeUndefined()
  })
})

test('a written value is parsed back the same', () => {
  fc.assert(fc.property(fc.nat(), (ms) => durations.parse(durations.format(ms)) === ms))
  fc.assert(fc.property(fc.maxSafeNat(), (bytes) => sizes.parse(sizes.format(bytes)) === bytes))
  fc.assert(fc.property(fc.nat(100_000), (n) => percentages.parse(percentages.format(n / 100_000)) === n / 100_000))
})

test.each<[keyof typeof units, Readonly<Record<string, string | undefined>>]>([
  ['durations', { '2': '2s', '1.5s': '1500ms', '10 sec': '10s', '1m30s': '90s', '1d': '24h', '2S': '2s' }],
  ['durations', { soon: undefined, '5 parsecs': undefined }],
  [
    'sizes',
    { '1024': '1KiB', '64k': '64KiB', '10MB': '10MiB', '1.5 GiB': '1536MiB', '7 bytes': '7B', much: undefined },
  ],
  ['byteRates', { '240': '240B/s', '1 kB/s': '1KiB/s', '64KiBps': '64KiB/s', '1KiB': '1KiB/s', much: undefined }],
  ['multiples', { '2': '2x', '1.5 times': '1.5x', x2: '2x', '2X': '2x', twice: undefined }],
  ['percentages', { '10': '10%', '0.1': '10%', '1': '1%', '0': '0%', '10 percent': '10%', '.5%': '0.5%' }],
  ['percentages', { half: undefined, '%': undefined }],
])('a mistake in %s gets a suggestion', (name, meant) => {
  const { suggest } = units[name] as Pick<typeof durations, 'suggest'>

  for (const [text, suggestion] of Object.entries(meant)) expect([text, suggest(text)]).toEqual([text, suggestion])
})

test('sizes, ages and seconds are written for people', () => {
  const sizesOf = [0, 1023, 1_204_224, 67_108_864, 2 ** 60].map(formatRoundedSize)
  const day = 86_400_000
  const ages = [0, 59_999, 60_000, 3_600_000, 8_040_000, day * 2 + 3_600_000 * 4, day * 40 + 3_600_000].map(formatAge)
  const seconds = [0, 0.9, 59.9, 60, 61, 3600, 90_061, 86_401, -5].map(humanizeSeconds)

  expect(sizesOf).toEqual(['0 B', '1023 B', '1.1 MiB', '64.0 MiB', '1048576 TiB'])
  expect(ages).toEqual(['under 1 min', 'under 1 min', '1 min', '1 h', '2 h 14 min', '2 d 4 h', '40 d'])
  expect(seconds).toEqual(['0s', '0s', '59s', '1m', '1m 1s', '1h', '1d 1h', '1d', '0s'])
})

/** Unicode's property Bidi_Control, the two separators of lines, and C1 with DEL. */
const hostile = /[\x7f-\x9f\u2028\u2029]|\p{Bidi_Control}/u

const text = fc.string({
  unit: fc.constantFrom(...'ab"\\/\n\t\x00\x1b\x7f\x85\x9b\u061c\u200e\u2028\u2029\u202e\u2066é€😀'),
})

test('escaped text has no control of terminals', () => {
  const every = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).join('')

  expect(escapeControls(every)).not.toMatch(hostile)
  expect(escapeControls('a\x1b[2J\x9b2J\u202e\u061c')).toBe('a\\x1b[2J\\x9b2J\\u202e\\u061c')
})

test('an escaped JSON document means the same', () => {
  fc.assert(
    fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text), fc.integer())), (value) => {
      const escaped = escapeQuotedControls(JSON.stringify(value))

      expect(escaped).not.toMatch(hostile)
      expect(JSON.parse(escaped)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('a parser of JSON with doubled escapes gets no control but line feed and tab', () => {
  fc.assert(
    fc.property(text, (value) => {
      const doubled = doubleEscapes(escapeQuotedControls(JSON.stringify(value)))

      const parsed = JSON.parse(doubled)
      expect(parsed).not.toMatch(hostile)
      expect(parsed.replaceAll(/[\n\t]/g, '')).not.toMatch(/\p{Cc}/u)
    }),
  )
  expect(JSON.parse(doubleEscapes('"\\\\u202e \\u202e \\n\\r"'))).toBe('\\u202e \\u202e \n\\r')
})
