import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { parseSource } from '../../src/config/document.ts'
import { plainYaml } from '../../src/config/plain-yaml.ts'
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
    const found = plainYaml(text)

    expect(found?.tree).toEqual(byParser(text))
    expect(found?.tree.length).toBe(2)
  })

  test('and ten thousand of them are', () => {
    const text = '- id: a\n  operations: all\n'.repeat(10_000)

    expect(plainYaml(text)?.tree.length).toBe(10_000)
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
  ['- id: &a b', 'an anchor'],
  ['- id: *a', 'an alias'],
  ['- id: !x b', 'a tag'],
  ['- id: |\n    a', 'a text of several lines'],
  ['- id: a\n    b', 'a value that goes on in the next line'],
  ['- id: "a\\u0062"', 'an escape'],
  ["- id: 'it''s'", 'a quote in quotes'],
  ['- id: 0x1f', 'a number in hex'],
  ['- id: 1e3', 'a number with an exponent'],
  ['- id: 1.5', 'a number with a fraction'],
  ['- id: 007', 'a number that begins with 0'],
  ['- id: null', 'nothing as a value'],
  ['- id:', 'no value'],
  ['- id: a:', 'a key as a value'],
  ['- id:\ta', 'a tab'],
  ['- id: a\r\n', 'a line end of two characters'],
  ['- id: ä', 'a letter that is not ASCII'],
  ['---\n- id: a', 'a marker of documents'],
  ['- id: a\n - id: b', 'an entry in a column of its own'],
  ['- id: a\n   operations: all', 'a key in a column of its own'],
  ['- id: [a', 'a bracket that is left open'],
  ['- id: [a,]', 'a comma too many'],
  ['- id: [a]b', 'something behind a bracket'],
  [`- ${'['.repeat(50)}${']'.repeat(50)}`, 'more depth than any client has'],
])('%j is left to the parser of YAML: %s', (text) => {
  expect(plainYaml(text)).toBeUndefined()
})
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these

describe('what is read is what the parser of YAML makes of it', () => {
  const bits = [
    ' ',
    '  ',
    '\n',
    '\n  ',
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
    'a',
    '0',
    '.',
  ]
  const more = [
    '1e2',
    'null',
    'True',
    'no',
    '\n- ',
    '\n    - ',
    '?',
    '|',
    '&',
    '*',
    '%',
    '<<',
    '__proto__',
    '/',
    '~',
    '+',
  ]
  const word = fc.constantFrom(...bits, ...more)
  const texts = [
    stringify(list),
    list.map((each) => `- ${JSON.stringify(each)}`).join('\n'),
    '- id: a\n  b: [c, {d: e}]',
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
        const found = plainYaml(text)
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
