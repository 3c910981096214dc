// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
/** How answers are compared: what the file says, what it must not say, and what it says for nothing. */
import { describe, expect, test } from 'vitest'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import { findProblems, parse, sandbox, validConfig } from '../../../core/config/helper.ts'

/** Renders a group whose candidate is compared so. */
const text = (compare: string, group = 'market', more = ''): string =>
  sandbox.replace(
    `${group}: sandbox`,
    `${group}: { endpoints: [https://a], healthCheck: { path: /up }, candidate: { endpoints: [https://b], shadow: { compare: ${compare}${more} } } }`,
  )

const compareOf = (compare: string) => validConfig(text(compare)).upstreams.market.candidate?.shadow?.compare

const at = 'upstreams.market.candidate.shadow.compare'

test('none compares nothing', () => {
  expect(compareOf('none')).toBeNull()
  expect(compareOf('false')).toBeNull()
})

test('all of it is read, and rendered as it was written', () => {
  const written =
    '{ ignore: [/generatedAt, "/items/*/id", /a~1b], numbers: 1%, arrays: { /items: id }, fields: [Location], noise: true, minEqual: 99.9% }'

  expect(compareOf(written)).toEqual({
    ignore: ['/generatedAt', '/items/*/id', '/a~1b'],
    numbers: { relative: 0.01 },
    arrays: { '/items': 'id' },
    fields: ['location'],
    noise: true,
    examples: false,
    minEqual: 0.999,
  })
  expect(JSON.stringify(reportConfig(validConfig(text(written))))).toContain('"numbers":"1%","arrays":{"/items":"id"}')
})

test('numbers may be an amount apart', () => {
  expect(compareOf('{ numbers: 0.005 }')).toMatchObject({ numbers: { absolute: 0.005 } })
  expect(compareOf('{ numbers: 0 }')).toMatchObject({ numbers: { absolute: 0 } })
  expect(compareOf('{ numbers: none }')).toMatchObject({ numbers: null })
})

test.each([
  ['0.005', { absolute: 0.005 }],
  ['2', { absolute: 2 }],
  ['1%', { relative: 0.01 }],
  ['false', null],
])('a variable may say how far numbers are apart: %s', (value, numbers) => {
  const config = validConfig(text('{ numbers: "${TOLERANCE}" }'), { TOLERANCE: value })

  expect(config.upstreams.market.candidate?.shadow?.compare).toMatchObject({ numbers })
})

describe('what is no rule is an error, with what was probably meant', () => {
  test.each([
    ['{ ignore: [generatedAt] }', 'ignore[0]', 'write /generatedAt'],
    ['{ ignore: ["$.items[*].id"] }', 'ignore[0]', 'write /items/*/id'],
    ['{ ignore: ["/"] }', 'ignore[0]', 'compare: none turns the comparison off'],
    ['{ ignore: [""] }', 'ignore[0]', 'compare: none turns the comparison off'],
    ['{ ignore: [/a~b] }', 'ignore[0]', 'RFC 6901: ~ in a name is written ~0, and / is ~1'],
    ['{ numbers: 1 % }', 'numbers', 'write 1%'],
    ['{ numbers: "-1" }', 'numbers', undefined],
    ['{ numbers: -1 }', 'numbers', undefined],
    ['{ arrays: { items: id } }', 'arrays.items', 'write /items'],
    ['{ arrays: { /items: "" } }', 'arrays."/items"', undefined],
    ['{ arrays: { "/${NAME}": id } }', 'arrays."/${NAME}"', 'placeholders stand in values, never in keys'],
    ['{ fields: [a b] }', 'fields[0]', 'RFC 9110 §5.6.2: letters, digits, -'],
    ['{ minEqual: 101% }', 'minEqual', 'write at most 100%'],
    ['{ ignored: [/a] }', 'ignored', undefined],
  ])('%s', (compare, path, hint) => {
    const [problem, ...others] = findProblems(text(compare))

    expect(others).toEqual([])
    expect(problem?.path).toBe(`${at}.${path}`)
    if (hint !== undefined) expect(problem?.hint).toBe(hint)
  })
})

describe('a word that does nothing, or that tells much, gets a warning', () => {
  test.each([
    [
      'risk',
      '{ noise: true }',
      ', posts: true, sideEffects: none',
      'compare.noise',
      'a POST is never sent to the primary twice',
    ],
    ['market', '{ examples: true }', '', 'compare.examples', 'VALUES OF ANSWERS ARE KEPT'],
  ])('in %s %s', (group, compare, more, key, message) => {
    const result = parse(text(compare, group, more))

    expect(result.ok && result.warnings).toMatchObject([
      { path: `upstreams.${group}.candidate.shadow.${key}`, message: expect.stringContaining(message) },
    ])
  })

  test('a shadow of a group that has nothing to copy', () => {
    const result = parse(text('{}', 'risk'))

    expect(result.ok && result.warnings).toMatchObject([
      {
        path: 'upstreams.risk.candidate.shadow',
        message: 'this does nothing: the group has no GET, and its POSTs are not copied',
      },
    ])
  })
})
