import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
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

describe('a duration', () => {
  test.each([
    ['250ms', 250],
    ['2s', 2000],
    ['1m', 60_000],
    ['1h', 3_600_000],
    ['0s', 0],
  ])('%s is %i ms', (text, ms) => {
    expect(durations.parse(text)).toBe(ms)
  })

  test.each([
    '2',
    '',
    's',
    '1.5s',
    '-1s',
    '+1s',
    '1 s',
    ' 1s',
    '1s ',
    '1S',
    '1d',
    '1e3s',
    '1m30s',
    '1constructor',
    '99999999999999h',
  ])('%j is none', (text) => {
    expect(durations.parse(text)).toBeUndefined()
  })

  test('any whole number of a unit is that many times the unit', () => {
    const units = fc.constantFrom<[string, number]>(['ms', 1], ['s', 1000], ['m', 60_000], ['h', 3_600_000])
    fc.assert(
      fc.property(fc.nat(1_000_000), units, (amount, [unit, factor]) => {
        expect(durations.parse(`${amount}${unit}`)).toBe(amount * factor)
      }),
    )
  })

  test('what is written is read back', () => {
    fc.assert(fc.property(fc.nat(), (ms) => durations.parse(durations.format(ms)) === ms))
  })

  test('text without a unit at its end is never one', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        if (!/^\d+(ms|s|m|h)$/.test(text)) expect(durations.parse(text)).toBeUndefined()
      }),
    )
  })

  test.each([
    ['2', '2s'],
    ['1.5s', '1500ms'],
    ['10 sec', '10s'],
    ['1m30s', '90s'],
    ['1d', '24h'],
    ['2S', '2s'],
    ['soon', undefined],
    ['5 parsecs', undefined],
  ])('%j was probably meant as %s', (text, meant) => {
    expect(durations.suggest(text)).toBe(meant)
  })
})

describe('a size', () => {
  test.each([
    ['10B', 10],
    ['64KiB', 65_536],
    ['1MiB', 1_048_576],
    ['1GiB', 1_073_741_824],
    ['1TiB', 1_099_511_627_776],
    ['0B', 0],
  ])('%s is %i bytes', (text, bytes) => {
    expect(sizes.parse(text)).toBe(bytes)
  })

  test.each(['64', '', 'KiB', '64K', '64KB', '64kib', '1.5MiB', '64 KiB', '-1B', '1toString', '9999999TiB'])(
    '%j is none',
    (text) => {
      expect(sizes.parse(text)).toBeUndefined()
    },
  )

  test('what is written is read back', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (bytes) => sizes.parse(sizes.format(bytes)) === bytes))
  })

  test.each([
    ['1024', '1KiB'],
    ['64k', '64KiB'],
    ['10MB', '10MiB'],
    ['1.5 GiB', '1536MiB'],
    ['7 bytes', '7B'],
    ['much', undefined],
  ])('%j was probably meant as %s', (text, meant) => {
    expect(sizes.suggest(text)).toBe(meant)
  })
})

describe('a rate', () => {
  test.each([
    ['240B/s', 240],
    ['1KiB/s', 1024],
    ['240B', undefined],
    ['1KiB/m', undefined],
    ['/s', undefined],
  ])('%j is %s bytes a second', (text, bytes) => {
    expect(byteRates.parse(text)).toBe(bytes)
  })

  test.each([
    ['240', '240B/s'],
    ['1 kB/s', '1KiB/s'],
    ['64KiBps', '64KiB/s'],
    ['1KiB', '1KiB/s'],
    ['much', undefined],
  ])('%j was probably meant as %s', (text, meant) => {
    expect(byteRates.suggest(text)).toBe(meant)
  })

  test('what is written is read back', () => {
    expect(byteRates.parse(byteRates.format(2048))).toBe(2048)
  })
})

describe('a rate of requests', () => {
  test.each([
    ['100/s', { count: 100, perMs: 1000 }],
    ['30/min', { count: 30, perMs: 60_000 }],
    ['0/s', { count: 0, perMs: 1000 }],
  ])('%s is %o, and written back', (text, rate) => {
    expect(requestRates.parse(text)).toEqual(rate)
    expect(requestRates.format(rate)).toBe(text)
  })

  test.each(['', '1', '/s', '1/h', '1.5/s', '-1/s', '1 /s', '1/sec', '1234567890/s'])('%j is none', (text) => {
    expect(requestRates.parse(text)).toBeUndefined()
  })
})

describe('a multiple', () => {
  test.each([
    ['2x', 2],
    ['1.5x', 1.5],
    ['100x', 100],
    ['0.25x', 0.25],
  ])('%s is the factor %d, and is written so', (text, factor) => {
    expect(multiples.parse(text)).toBe(factor)
    expect(multiples.format(factor)).toBe(text)
  })

  test.each(['2', '', 'x', '.5x', '2 x', '2X', '-2x', '1.234x', '1000x', 'x2'])('%j is none', (text) => {
    expect(multiples.parse(text)).toBeUndefined()
  })

  test.each([
    ['2', '2x'],
    ['2 x', '2x'],
    ['1.5 times', '1.5x'],
    ['x2', '2x'],
    ['2X', '2x'],
    ['twice', undefined],
  ])('%j was probably meant as %s', (text, meant) => {
    expect(multiples.suggest(text)).toBe(meant)
  })
})

describe('a percentage', () => {
  test.each([
    ['0%', 0],
    ['0.5%', 0.005],
    ['10%', 0.1],
    ['33.333%', 0.33333],
    ['100%', 1],
    ['250%', 2.5],
  ])('%s is the share %d', (text, share) => {
    expect(percentages.parse(text)).toBe(share)
  })

  test.each(['10', '0.1', '', '%', '.5%', '5.%', '-1%', '+1%', '1 %', ' 1%', '1%%', '1e1%', '0.0001%', '1000%'])(
    '%j is none',
    (text) => {
      expect(percentages.parse(text)).toBeUndefined()
    },
  )

  test('what is written is read back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100_000 }), (thousandths) => {
        const share = thousandths / 100_000

        expect(percentages.parse(percentages.format(share))).toBe(share)
      }),
    )
  })

  test.each([
    ['10', '10%'],
    ['0.1', '10%'],
    ['0.25', '25%'],
    ['1', '1%'],
    ['0', '0%'],
    ['10 %', '10%'],
    ['10 percent', '10%'],
    ['.5%', '0.5%'],
    ['half', undefined],
    ['%', undefined],
  ])('%j was probably meant as %s', (text, meant) => {
    expect(percentages.suggest(text)).toBe(meant)
  })
})

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1_204_224, '1.1 MiB'],
  [67_108_864, '64.0 MiB'],
  [2 ** 60, '1048576 TiB'],
])('%d bytes are %s', (value, written) => {
  expect(formatRoundedSize(value)).toBe(written)
})

test.each([
  [0, 'under 1 min'],
  [59_999, 'under 1 min'],
  [60_000, '1 min'],
  [3_600_000, '1 h'],
  [8_040_000, '2 h 14 min'],
  [86_400_000 * 2 + 3_600_000 * 4, '2 d 4 h'],
  [86_400_000 * 40 + 3_600_000, '40 d'],
])('%d ms are an age of %s', (value, written) => {
  expect(formatAge(value)).toBe(written)
})
