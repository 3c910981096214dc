import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type JsonNode, parseJsonNodes } from '../../../../src/features/contract/compile/json-nodes.ts'

/** Puts the value of nodes together again; of two members with one name the last counts, as for JSON.parse. */
const valueFrom = (node: JsonNode): unknown => {
  if (node.kind === 'scalar') return node.value
  const members = node.entries.map(({ name, value }) => [name, valueFrom(value)] as const)
  return node.kind === 'array' ? members.map(([, value]) => value) : Object.fromEntries(members)
}

test('any JSON becomes nodes of the same value', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 2), (json, indent) => {
      const text = JSON.stringify(JSON.parse(json), null, indent)
      const node = parseJsonNodes(text)

      expect('kind' in node && valueFrom(node)).toEqual(JSON.parse(text))
    }),
  )
})

test('a text of which one character was removed or changed is JSON here exactly when it is for JSON.parse', () => {
  const characters = fc.constantFrom('', '"', ',', '}', '[', '\n', '\\', '0', 'a', '-', '.')

  fc.assert(
    fc.property(fc.json(), fc.nat(), characters, (json, nth, by) => {
      const at = nth % json.length
      const text = json.slice(0, at) + by + json.slice(at + 1)
      if ('kind' in parseJsonNodes(text)) JSON.parse(text)
      else expect(() => JSON.parse(text)).toThrow(SyntaxError)
    }),
    { numRuns: 500 },
  )
})

test('a value knows where it stands, as it is written', () => {
  const text = '{ "a": [1.00, {"b" : "\\u0041"}], "a":null }'
  const node = parseJsonNodes(text)

  expect(node).toMatchObject({ kind: 'object', start: 0, end: text.length })
  const members = 'kind' in node && node.kind === 'object' ? node.entries : []
  const told = members.map(
    ({ name, nameStart, value: { start, end } }) => `${name} ${nameStart} ${text.slice(start, end)}`,
  )
  expect(told).toEqual(['a 2 [1.00, {"b" : "\\u0041"}]', 'a 33 null'])
})

test.each([
  ['', 0, /a value/],
  ['{"a": }', 6, /a value/],
  ['{"a": NaN}', 6, /a value/],
  ['{"a": 01}', 6, /a value/],
  ['{"a": 1,}', 8, /a name in double quotes$/],
  ["{'a': 1}", 1, /a name in double quotes, or }/],
  ['{"a" 1}', 5, /a colon/],
  ['{"a": 1 "b": 2}', 8, /a comma, or }/],
  ['[1 2]', 3, /a comma, or \]/],
  ['{"a": "b\nc"}', 6, /a text between double quotes on one line/],
  ['{"a": "b', 6, /a text between double quotes/],
  ['{} // done', 3, /the end of the text/],
  ['['.repeat(1000), 201, /at most 200 levels/],
])('the fault of %j is where the text stops being JSON', (text, offset, expected) => {
  expect(parseJsonNodes(text)).toEqual({ offset, expected: expect.stringMatching(expected) })
})

test('large texts and numbers are parsed', () => {
  const text = JSON.stringify({ a: 'x\\"'.repeat(300_000), b: 0 }).replace('0}', `${'1'.repeat(300_000)}}`)

  expect(parseJsonNodes(text)).toMatchObject({ kind: 'object', end: text.length })
})
