import { expect, test } from 'vitest'
import { formats } from '../../src/contract/formats.ts'

const starts = [
  '',
  'a',
  'http://',
  'http://a',
  'http://a@',
  '//',
  'P',
  '#',
  '/',
  '2020-01-01T',
  '12:00:00.',
  'a@',
  '{',
  '{a',
  'http://[',
]
const units = [
  'a',
  '0',
  '-',
  '.',
  '/',
  '%41',
  '~0',
  'a.',
  'a-',
  '0.',
  'a@',
  '{a}',
  '[',
  ':',
  'a:',
  ' ',
  '\n',
  '=',
  'T1',
  '::',
  '{a,',
]
const length = 1 << 18

/** Every format as a function, as Ajv calls it for a text. */
const checks = Object.entries(formats).flatMap(([name, format]) => {
  const check = typeof format === 'object' && 'validate' in format ? format.validate : format
  if (typeof check === 'boolean' || (typeof format === 'object' && 'type' in format)) return []
  if (check instanceof RegExp) return [[name, (text: string) => check.test(text)] as const]
  return typeof check === 'function' ? [[name, check] as const] : []
})

test.each(checks)('%s takes a time that grows with the text alone', (_name, check) => {
  // Quadratic time would be minutes for each text.
  for (const start of starts)
    for (const unit of units) {
      const text = `${start}${unit.repeat(length / unit.length)}!`
      expect(typeof Reflect.apply(check, undefined, [text])).toBe('boolean')
    }
})

test('the formats are those of ajv-formats without two', () => {
  expect(Object.keys(formats)).toHaveLength(24)
  expect(formats).not.toHaveProperty('regex')
  expect(formats).not.toHaveProperty('url')
})
