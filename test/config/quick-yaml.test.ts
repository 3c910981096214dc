import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { parseSource } from '../../src/config/document.ts'
import { quickYaml } from '../../src/config/quick-yaml.ts'
import { treeOf } from '../../src/config/yaml-tree.ts'

const list = [
  {
    id: 'bank-a',
    disabled: false,
    apiKeys: [{ id: 'a-1', sha256: 'ab12'.repeat(16) }],
    claims: { client_id: 'bank a', 'https://bank.example/tenant': "it's" },
    certificates: ['dns:a.example', 'uri:https://a.example/x'],
    operations: ['market.insights', 'valuation.score'],
    addresses: ['192.0.2.0/24', '2001:db8::/32', '::1', '10.0.0.1'],
    rate: '100/s',
    burst: 1000,
    concurrency: 'none',
  },
  { id: 'b', operations: 'all', apiKeys: [], claims: {}, burst: 0 },
]

/** Reads what the parser of YAML makes of a text; null: it has something to say about it. */
const byParser = (text: string): unknown => {
  const { tree, findings } = treeOf(parseSource(text), {})
  return findings.length > 0 ? null : tree
}

describe('a list of clients is read without the parser of YAML', () => {
  test.each([
    ['as programs write it', stringify(list)],
    ['with all values quoted', stringify(list, { defaultStringType: 'QUOTE_SINGLE' }).replaceAll("it''s", 'its')],
    ['one client a line', list.map((each) => `- ${JSON.stringify(each)}\n`).join('')],
    [
      'as people write it',
      '# ours\n\n- id: a   # the first\n  apiKeys:\n  - { id: a-1, sha256: "ab" }\n\n  operations: [market.insights, leads.pipeline]\n-   id: b\n    operations: all',
    ],
  ])('%s', (_, text) => {
    const found = quickYaml(text)

    expect(found?.tree).toEqual(byParser(text))
    expect(found?.tree.length).toBe(2)
  })

  test('and ten thousand of them are', () => {
    const text = '- id: a\n  operations: all\n'.repeat(10_000)

    expect(quickYaml(text)?.tree.length).toBe(10_000)
  })
})

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
test.each([
  ['', 'nothing'],
  ['id: a', 'a map'],
  ['- id: ${ID}', 'a placeholder'],
  ['- id: a\n  id: b', 'a key that stands twice'],
  ['- { id: a, id: b }', 'a key that stands twice, in braces'],
  ['- __proto__: a', 'a key with a meaning of its own'],
  ['- "__proto__": { a: b }', 'the same in quotes'],
  ['- 0x1f: a', 'a key that looks like a number'],
  ['- ~: a', 'a key that looks like nothing'],
  ['- [a]: b', 'a key that is a list'],
  [`- ${'a'.repeat(1100)}: b`, 'a key that is too long'],
  [`- a${' '.repeat(1100)}: b`, 'a colon that is too far from its key'],
  ['- id: &a b', 'an anchor'],
  ['- id: *a', 'an alias'],
  ['- &a id: *a', 'an alias with its anchor'],
  ['- id: !x b', 'a tag'],
  ['- !!str id: b', 'a tag that is known'],
  ['- id: 1e3', 'a number with an exponent'],
  ['- id: 1.5', 'a number with a fraction'],
  ['- id: .1e999', 'a number that is too large'],
  [`- id: ${'9'.repeat(400)}`, 'a number of too many digits'],
  ['- id: .inf', 'an infinite one'],
  ['- id: .NaN', 'no number'],
  ['- id:\ta', 'a tab'],
  ['- id: a\r\n', 'a line end of two characters'],
  ['- id: ä', 'a letter that is not ASCII'],
  ['- id: "a\u2028b"', 'a line end that is not ASCII'],
  ['---\n- id: a', 'a marker of documents'],
  ['- id: a\n---\n- id: b', 'two documents'],
  ['\n...\n- id: a', 'a document that ends before it begins'],
  ['%YAML 1.2\n---\n- id: a', 'a directive'],
  ['- id: a\n - id: b', 'an entry in a column of its own'],
  ['- id: a\n   operations: all', 'a key in a column of its own'],
  ['- id: |\n    a\n    b\n', 'a text of several lines'],
  ['- id: >-\n    a\n\n    b', 'a text that is folded'],
  ['- id: a\n    b', 'a value that goes on in the next line'],
  ['- id: "a\n    b"', 'a value in quotes that does'],
  ['- id: "a\\u0062"', 'an escape'],
  ["- id: 'it''s'", 'a quote in quotes'],
  ['- id: "a\\\n\n    b"', 'a line that ends with an escape'],
  ['- id:\n  # its name\n    a\n- b', 'a value in a line of its own below a comment'],
  ['- id: [a', 'a bracket that is left open'],
  ['- id: [a]b', 'something behind a bracket'],
  ['- id: a: b', 'a key as a value'],
  [`- ${'['.repeat(50)}${']'.repeat(50)}`, 'more depth than any client has'],
])('%j is left to the parser of YAML: %s', (text) => {
  expect(quickYaml(text)).toBeUndefined()
})
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these

test.each([
  ['- id: Smith & Sons, 100 % *yours*!', 'signs that mean something elsewhere'],
  ['- id: 0x1f', 'a number in hex'],
  ['- id: 007', 'a number that begins with 0'],
  ['- id: -0', 'a zero below nothing'],
  ['- id: 99999999999999999999', 'a number that is rounded'],
  ['- id: null', 'nothing as a value'],
  ['- id:', 'no value'],
  ['- id: yes', 'a word that another YAML knows'],
  ['- id: 2026-11-22', 'a date'],
  ['- <<: a', 'a key that another YAML knows'],
  ['- ? id\n  : a', 'a key with a sign of its own'],
  ['- id: [a,]', 'a comma too many'],
  ['- id: [a: b]', 'a pair in a list'],
])('%j is read as the parser of YAML reads it: %s', (text) => {
  const found = quickYaml(text)

  expect(found).toBeDefined()
  expect(found?.tree).toEqual(byParser(text))
})

describe('what is read is what the parser of YAML makes of it', () => {
  const spaces = [' ', '  ', '\n', '\n  ', '\n\n  ', '\n- ', '\n    - ', '\n  k: ', '\n  : ']
  const signs = [
    '- ',
    '-',
    ': ',
    ':',
    ',',
    '[',
    ']',
    '{',
    '}',
    '"',
    "'",
    '#',
    ' #',
    '?',
    '? ',
    '|',
    '&',
    '*',
    '%',
    '!',
    '@',
  ]
  const words = [
    'a',
    '0',
    '.',
    '/',
    '~',
    '+',
    '\\',
    '1e2',
    '1e999',
    '0x1f',
    '-0',
    '.inf',
    'null',
    'True',
    'no',
    '<<',
    '__proto__',
  ]
  const pieces = [
    ' |\n    ',
    ' >-\n    ',
    '"a":',
    "'b'",
    "''",
    '\\n',
    '[a, b]',
    '{a: b}',
    '&a ',
    '!!str ',
    '\n---\n',
    '\n...\n',
    '\n# c\n',
    '\n  # c\n    b',
  ]
  const word = fc.constantFrom(...spaces, ...signs, ...words, ...pieces)
  const texts = [
    stringify(list),
    list.map((each) => `- ${JSON.stringify(each)}`).join('\n'),
    '- id: a\n  b: [c, {d: e}]',
    "- a b\n  c\n- 'x\n  y'\n- {a: b,\n   c: d}\n",
    '- a: |\n    b\n\n     c\n  d: >-\n    e\n    f\n',
  ]
  const edit = fc.record({ at: fc.nat(), remove: fc.nat(4), insert: fc.oneof(word, fc.constant('')) })
  const edited = fc
    .tuple(fc.constantFrom(...texts), fc.array(edit, { minLength: 1, maxLength: 3 }))
    .map(([text, edits]) =>
      edits.reduce((now, { at, remove, insert }) => {
        const from = at % (now.length + 1)
        return now.slice(0, from) + insert + now.slice(from + remove)
      }, text),
    )
  const strung = fc.array(word, { maxLength: 12 }).map((words) => `- ${words.join('')}`)

  test('after any edit, and of anything that looks like YAML', () => {
    let read = 0
    fc.assert(
      fc.property(fc.oneof(edited, strung), (text) => {
        const found = quickYaml(text)
        if (found === undefined) return
        read++
        expect(found.tree).toEqual(byParser(text))
      }),
      { numRuns: 3_000 },
    )
    // Or else nothing was compared.
    expect(read).toBeGreaterThan(100)
  })
})
