import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formats } from '../../../../src/features/contract/check/formats.ts'
import {
  describeMagnitudes,
  everyFormat,
  formatKeyword,
  magnitudeOf,
  narrowFormats,
} from '../../../../src/features/contract-learning/learn/value-summaries.ts'
import { pairWith } from '../../../helpers/table.ts'

const formatOf = (...texts: readonly string[]) => formatKeyword(texts.reduce(narrowFormats, everyFormat))

test.each([
  [{ format: 'uuid' }, ['123E4567-e89b-12d3-a456-426614174000']],
  [{ format: 'date' }, ['2026-02-28', '2024-02-29']],
  [{ format: 'date-time' }, ['2026-02-28T23:59:59Z', '2026-02-28T23:59:59.123+05:30']],
  [{ format: 'email' }, ['jane.doe+x@mail.example']],
  [{ format: 'uri' }, ['https://host.example:8080/a%20b?c=d']],
  [{ pattern: '^-?[0-9]+$' }, ['0042']],
  [{ pattern: '^-?[0-9]+(\\.[0-9]+)?$' }, ['-12.50']],
])('%j is the format of %j', (keyword, texts) => {
  expect(pairWith(texts, (text) => formatOf(text))).toEqual(pairWith(texts, () => keyword))
})

test.each([
  ...['', '2026-02-29', '2026-13-01', '2026-02-28T23:59:60Z', '2026-02-28T23:59:59', 'jane@localhost', 'a@-b.example'],
  ...['javascript:alert(1)', 'https://host/ä', 'https://host/%zz', '12,5', '1.', '1'.repeat(3000), '1\n'],
])('%j has none', (text) => {
  expect(formatOf(text)).toBeNull()
})

test('a format stands while all strings fit it', () => {
  expect(formatOf('12', '13.5')).toEqual({ pattern: '^-?[0-9]+(\\.[0-9]+)?$' })
  expect(formatOf('2026-02-28', 'today')).toBeNull()
})

const host = /[a-z0-9-]{1,8}(\.[a-z0-9]{1,5}){0,2}\.[a-z]{2}/.source

test.each([
  ['uuid', /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/],
  ['date', /^\d{4}-[01]\d-[0-3]\d$/],
  ['date-time', /^20[0-3]\d-[01]\d-[0-3]\dT[0-2]\d:[0-6]\d:[0-6]\d(\.\d{1,4})?(Z|[+-][0-2]\d:[0-6]\d)$/],
  ['email', new RegExp(`^[a-z0-9_.+-]{1,8}@${host}$`)],
  ['uri', new RegExp(`^https://${host}(:\\d{1,5})?(/[!-~]{0,12})?$`)],
])('what fits the format %s here fits it in a contract', (format, texts) => {
  let fitting = 0
  fc.assert(
    fc.property(fc.stringMatching(texts), (text) => {
      const keyword = formatOf(text)
      if (keyword === null || !('format' in keyword) || keyword.format !== format) return
      fitting++
      const check = formats[format]
      expect(check instanceof RegExp ? check.test(text) : typeof check === 'function' && check(text)).toBe(true)
    }),
    { numRuns: 500 },
  )

  expect(fitting).toBeGreaterThan(12)
})

test('a long string that nearly fits costs no more than its length', () => {
  const texts = ['a.'.repeat(1000), `a@${'a-'.repeat(1000)}`, `https://a/${'%20'.repeat(600)}%`, '1'.repeat(2000)]

  for (const text of texts) for (let i = 0; i < 100; i++) expect(narrowFormats(everyFormat, `${text} `)).toBe(0)
})

const rangeOf = (values: readonly number[]) => {
  const join = (some: readonly number[]) => some.reduce((all, value) => all | magnitudeOf(Math.abs(value)), 0)
  return describeMagnitudes(join(values.filter((value) => value >= 0)), join(values.filter((value) => value < 0)))
}

test.each([
  [[0], { from: 0, below: 1 }],
  [[0.5, 7], { from: 0, below: 10 }],
  [[1, 9.99], { from: 1, below: 10 }],
  [[10, 999], { from: 10, below: 1000 }],
  [[-10], { above: -100, to: -10 }],
  [[-0.5], { above: -1, to: -0 }],
  [[-3, 250], { above: -10, below: 1000 }],
  [[1e300], { from: 1e15 }],
  [[-1e300, 0], { below: 1 }],
])('%j lies in %j', (values, range) => {
  expect(rangeOf(values)).toEqual(range)
})

test('every number lies in its range', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true }), fc.double({ noNaN: true }), (...values) => {
      const { above = -Infinity, from = -Infinity, to = Infinity, below = Infinity } = rangeOf(values)

      for (const value of values) {
        expect(value >= from && value <= to).toBe(true)
        expect((above === -Infinity || value > above) && (below === Infinity || value < below)).toBe(true)
      }
    }),
  )
})
