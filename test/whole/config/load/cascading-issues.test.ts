/** One wrongly indented line is one problem, whatever it does to the lines around it; two mistakes are two problems. */
import { expect, test } from 'vitest'
import { parseConfig } from '../../../../src/core/config/load/load-config.ts'
import { withRisk } from '../../../core/config/helper.ts'

const file = `version: 1

listen:
  host: 127.0.0.1
  port: 8080

limits:
  concurrency: 100

upstreams:
  valuation: sandbox
  financing: sandbox
  analysis: sandbox
  risk:
    endpoints:
      - http://risk-a.internal:8080
      - url: http://risk-b.internal:8080
        weight: 10
    timeouts:
      headers: 5s
    retry:
      attempts: 2
  inventory: sandbox
  leads: sandbox
  compliance: sandbox
  market: http://market.internal:8080

operations:
  market.insights:
    deadline: 5s
    cache: true
  inventory.sync:
    maxBody: 1MiB
`

const lines = file.split('\n')

const findProblems = (text: string): readonly string[] => {
  const result = parseConfig(Buffer.from(text), 'gateway.yaml', {})
  return result.ok ? [] : result.problems.map(({ line, path, message }) => `${line} ${path}: ${message}`)
}

/** Renders the file with some lines, counted from 1, indented further by a number of blanks, or less far. */
const shifted = (...shifts: readonly (readonly [line: number, by: number])[]): string =>
  lines
    .map((line, i) => {
      const by = shifts.find(([number]) => number === i + 1)?.[1] ?? 0
      return by < 0 ? line.slice(-by) : ' '.repeat(by) + line
    })
    .join('\n')

const indentOf = (line: string): number => line.length - line.trimStart().length

const slips = lines.flatMap((line, i) =>
  line === '' ? [] : [-2, 1, 2].flatMap((by) => (indentOf(line) + by < 0 ? [] : [[i + 1, by] as const])),
)

test('the file is valid', () => {
  expect(findProblems(file)).toEqual([])
})

test('whichever line is indented wrongly, and however far, there is one problem at most', () => {
  const several = slips.flatMap(([line, by]) => {
    const problems = findProblems(shifted([line, by]))
    return problems.length > 1 ? [{ line, by, problems }] : []
  })

  expect(slips.length).toBeGreaterThan(50)
  expect(several).toEqual([])
})

test.each([
  ['a line behind it', shifted([11, 1]), ['12 : wrong indentation']],
  ['the keys of a section that stands in another one', shifted([10, 2]), ['10 limits.upstreams: unknown key']],
  ['the value that the key above has lost', shifted([20, -2]), ['20 upstreams.risk.headers: unknown key']],
  ['where a key is missing now', shifted([23, 2]), ['23 upstreams.risk.inventory: unknown key']],
])('one mistake is reported, and not also %s', (_, text, expected) => {
  expect(findProblems(text)).toEqual(expected)
})

const wrong = '12 : wrong indentation'
const first = shifted([11, 1])

test.each<[string, string, readonly string[]]>([
  ['two lines of two sections', shifted([11, 1], [30, 1]), [wrong, '31 operations: wrong indentation']],
  [
    'a second colon behind it',
    first.replace('leads: sandbox', 'leads: sand: box'),
    [wrong, '24 leads: a second colon in one line'],
  ],
  ['a tab behind it', first.replace('    deadline', '\tdeadline'), [wrong, '30 : a tab in the indentation']],
  [
    'a key that is missing, and another that is unknown',
    file.replace('  leads: sandbox\n', '').replace('port:', 'prot:'),
    ['5 listen.prot: unknown key; did you mean "port"?', '10 upstreams.leads: missing'],
  ],
  [
    'a key without a value, and an unknown one that was never its own',
    file.replace('concurrency: 100\n', 'concurrency: 100\n  address:\nnonsense: 1\n'),
    ['9 limits.address: no value', '10 nonsense: unknown key'],
  ],
  [
    'a section that is indented too far, and an unknown key of its own',
    shifted([21, 2]).replace('attempts: 2', 'attempts: 2\n      nonsense: 1'),
    ['21 upstreams.risk.timeouts.retry: unknown key', '23 upstreams.risk.timeouts.nonsense: unknown key'],
  ],
])('another mistake is reported beside it: %s', (_, text, expected) => {
  expect(findProblems(text)).toEqual(expected)
})

test.each([
  [5, '13 upstreams.risk: wrong indentation'],
  [7, '12 upstreams.risk.endpoints[0]: a list item inside the item above it'],
])('an item of a list indented by %i, where the others are by six, is reported as an item', (spaces, expected) => {
  const items = [6, spaces, 6].map((indent) => `\n${' '.repeat(indent)}- http://127.0.0.1:1`)

  expect(findProblems(`version: 1\n${withRisk(`\n    endpoints:${items.join('')}`)}\n`)).toEqual([expected])
})
