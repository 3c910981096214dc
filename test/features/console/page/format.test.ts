import { expect, test } from 'vitest'
import { truncate } from '../../../../src/core/admin/commands/phrases.ts'
import {
  formatCount,
  formatCounted,
  formatMilliseconds,
  formatPerSecond,
  timeHtml,
} from '../../../../src/core/admin/page-components.ts'

test.each([
  [0, '0'],
  [0.004, '< 0.01'],
  [0.04, '0.04'],
  [12.34, '12.3'],
  [1234.4, '1\u202f234'],
])('%d a second is %s', (value, written) => {
  expect(formatPerSecond(value)).toBe(written)
})

test.each([
  [null, '–'],
  [0.82, '0.8 ms'],
  [31.4, '31 ms'],
  [1250, '1.25 s'],
  [61_000, '61.0 s'],
])('%d ms are %s', (value, written) => {
  expect(formatMilliseconds(value)).toBe(written)
})

test('a time of another day has its day', () => {
  const at = '2026-11-21T02:14:07.250Z'

  expect(timeHtml(at, '2026-11-21T01:02:03.000Z').toString()).toContain('>01:02:03</time>')
  expect(timeHtml(at, '2026-11-20T23:59:59.000Z').toString()).toContain('>2026-11-20 23:59:59</time>')
})

test('numbers, words for them, and cuts', () => {
  expect(formatCount(1_234_567)).toBe('1\u202f234\u202f567')
  expect([formatCounted(1, 'retry', 'retries'), formatCounted(2, 'retry', 'retries')]).toEqual(['1 retry', '2 retries'])
  expect(truncate('abcdef', 4)).toBe('abc…')
})
