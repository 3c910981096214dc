import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseStrictJson } from '../../../../src/features/contract/check/strict-json.ts'

const parse = (text: string) => parseStrictJson(Buffer.from(text))

test.each([
  ['duplicate-member', ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '{"__proto__":1,"__proto__":2}', '{"1":0,"1":0}']],
  ['duplicate-member', ['[{"b":{"a":1,"a":2}}]']],
  ['too-deep', [`${'['.repeat(101)}${']'.repeat(101)}`, '['.repeat(100_000), '{"a":'.repeat(100_000)]],
  ['not-json', ['', '\uFEFF{}', '{"a":1', '{"a":1}}', '{"a":01}', "{'a':1}", '[1,]', 'NaN', '"\u0001"', '{"a":"\\']],
])('%s: %.100j', (fault, texts) => {
  expect(texts.map(parse)).toEqual(texts.map(() => ({ fault })))
})

test('bytes that are not UTF-8 are rejected: readers replace them in different ways', () => {
  expect(parseStrictJson(Buffer.from('{"a":"\xff"}', 'latin1'))).toEqual({ fault: 'not-utf8' })
})

test.each([
  [`${'['.repeat(100)}${']'.repeat(100)}`],
  ['{"a":{"a":{"a":1}},"b":{"a":1}}'],
  ['{"a:b\\":{":"\\\\","":"}{"}'],
  ['{"a\\"b":1,"a":2}'],
  ['{"__proto__":{"constructor":1},"constructor":{"__proto__":2},"toString":3,"1":4}'],
  [' \t\r\n{ "a" : [ 1.0 , 1e2 , -0 , 1e400 ] } \n'],
  ['"\\ud800"'],
])('%.60s is parsed', (text) => {
  expect(parse(text)).toEqual({ value: JSON.parse(text) })
})

test('output of JSON.stringify is parsed, and rejected with a member twice', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), fc.jsonValue(), (object, other) => {
      const text = JSON.stringify(object)
      expect(parse(text)).toEqual({ value: JSON.parse(text) })

      for (const name of Object.keys(object).slice(0, 3)) {
        const doubled = `{${JSON.stringify(name)}:${JSON.stringify(other)},${text.slice(1)}`
        expect(parse(doubled)).toEqual({ fault: 'duplicate-member' })
      }
    }),
    { numRuns: 100 },
  )
})
