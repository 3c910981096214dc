import fc from 'fast-check'
import { expect, test } from 'vitest'
import { doubleEscapes, escapeControls, escapeQuotedControls } from '../../../../src/core/lib/text/escape-controls.ts'

/** Unicode's property Bidi_Control, the two separators of lines, and C1 with DEL. */
const hostile = /[\x7f-\x9f\u2028\u2029]|\p{Bidi_Control}/u

test('no control of terminals stays in a text', () => {
  const every = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).join('')

  expect(escapeControls(every)).not.toMatch(hostile)
  expect(escapeControls('a\x1b[2J\x9b2J\u202e\u061c')).toBe('a\\x1b[2J\\x9b2J\\u202e\\u061c')
})

test('a document of JSON means the same without them', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const escaped = escapeQuotedControls(JSON.stringify(value))

      expect(escaped).not.toMatch(hostile)
      expect(JSON.parse(escaped)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('who parses JSON whose escapes are doubled gets no control but line feed and tab', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const doubled = doubleEscapes(escapeQuotedControls(JSON.stringify(text)))

      const parsed = JSON.parse(doubled)
      expect(parsed).not.toMatch(hostile)
      expect(parsed.replaceAll(/[\n\t]/g, '')).not.toMatch(/\p{Cc}/u)
    }),
  )
  expect(JSON.parse(doubleEscapes('"\\\\u202e \\u202e \\n\\r"'))).toBe('\\u202e \\u202e \n\\r')
})
