// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
/** The copies that a candidate gets: what the file says, what it must not say, and what it says for nothing. */

import { describe, expect, test } from 'vitest'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import { perWorkerConfig } from '../../../../src/features/workers/worker-pool.ts'
import { findProblems, parse, sandbox, validConfig } from '../../../core/config/helper.ts'

const mebibyte = 1024 ** 2

/** Renders a group with a shadow. */
const text = (group: string, shadow: string, candidate = '', own = ''): string =>
  sandbox.replace(
    `${group}: sandbox`,
    `${group}: { endpoints: [https://a], healthCheck: { path: /up }${own}, candidate: { endpoints: [https://b], shadow: ${shadow}${candidate} } }`,
  )

const shadowOf = (written: string) => validConfig(written).upstreams.market.candidate?.shadow

const at = (group: string): string => `upstreams.${group}.candidate.shadow`

test('a candidate gets none unless the file says so', () => {
  expect(
    validConfig(sandbox.replace('market: sandbox', 'market: { endpoints: [https://a], candidate: https://b }'))
      .upstreams.market.candidate?.shadow,
  ).toBeNull()
  expect(shadowOf(text('market', 'none'))).toBeNull()
  expect(shadowOf(text('market', 'false'))).toBeNull()
})

test('by default a tenth of the GETs is copied, without credentials', () => {
  expect(shadowOf(text('market', '{}'))).toEqual({
    sample: 0.1,
    compare: {
      ignore: [],
      numbers: null,
      arrays: {},
      fields: [],
      noise: false,
      examples: false,
      minEqual: 0.99,
    },
    posts: false,
    sideEffects: null,
    credentials: 'remove',
    marker: 'X-Shadow',
    timeout: 30_000,
    concurrency: 64,
    maxBody: mebibyte,
    maxBytes: 64 * mebibyte,
  })
})

test('its report is a configuration with the same report', () => {
  const written = text('valuation', '{ sample: 25%, posts: true, sideEffects: none, marker: X-Copy, maxBody: 64KiB }')
  const { config } = reportConfig(validConfig(written))

  expect(reportConfig(validConfig(JSON.stringify(config))).config).toEqual(config)
  expect(config).toMatchObject({
    upstreams: {
      valuation: { candidate: { shadow: { sample: '25%', posts: true, sideEffects: 'none', marker: 'X-Copy' } } },
    },
  })
})

describe('POSTs are copied by two words', () => {
  test.each([
    ['valuation', 'valuation.score, valuation.forecast'],
    ['financing', 'financing.pre-approval'],
    ['risk', 'risk.asset-valuation'],
    ['inventory', 'inventory.sync'],
  ])('of %s the first alone is an error in its place, which names the operations', (group, names) => {
    const problems = findProblems(text(group, '{ posts: true }'))

    expect(problems).toMatchObject([
      {
        path: `${at(group)}.posts`,
        line: 1,
        expected: `sideEffects: none beside it, for ${names}`,
        hint: 'add sideEffects: none if nothing that the candidate does lasts, or remove posts',
      },
    ])
    expect(problems[0]?.column).toBeGreaterThan(1)
  })

  test('a variable is read like a word', () => {
    const written = text('risk', `{ posts: "\${POSTS}" }`)

    expect(findProblems(written, { POSTS: 'true' })).toMatchObject([{ path: `${at('risk')}.posts` }])
    expect(findProblems(written, { POSTS: 'false' })).toEqual([])
  })

  test('both are no error', () => {
    expect(
      validConfig(text('risk', '{ posts: true, sideEffects: none }')).upstreams.risk.candidate?.shadow,
    ).toMatchObject({ posts: true, sideEffects: 'none' })
  })

  test('the second has one value', () => {
    expect(findProblems(text('risk', '{ posts: true, sideEffects: few }'))).toMatchObject([
      { path: `${at('risk')}.sideEffects` },
    ])
  })
})

describe('a marker that means something else is an error', () => {
  test.each([
    ['the field of requestId.header', text('market', '{ marker: X-Request-Id }'), `${at('market')}.marker`],
    [
      'the field of auth.identityField',
      `${text('market', '{ marker: X-Client-Id }')}\nauth: { methods: [apiKey], identityField: X-Client-Id }\nclients: [{ id: a, operations: all }]`,
      `${at('market')}.marker`,
    ],
    [
      'a field of upstreams.market.candidate.request.set',
      text('market', '{}', ', request: { set: { X_Shadow: "0" } }'),
      at('market'),
    ],
    [
      'a field of upstreams.market.candidate.request.set',
      text('market', '{}', ', request: { set: { x-shadow: "0" } }'),
      at('market'),
    ],
    [
      'a field of upstreams.market.candidate.request.remove',
      text('market', '{}', ', request: { remove: [X-Shadow] }'),
      at('market'),
    ],
    [
      'a field of upstreams.market.request.set',
      text('market', '{ marker: X-A }', '', ', request: { set: { X-A: "0" } }'),
      `${at('market')}.marker`,
    ],
  ])('%s', (found, written, path) => {
    expect(findProblems(written)).toMatchObject([{ path, found }])
  })

  test.each(['Host', 'Connection', 'Content-Length', 'Via', 'X-Forwarded-For', 'a b'])('%s', (marker) => {
    expect(findProblems(text('market', `{ marker: "${marker}" }`))).toMatchObject([{ path: `${at('market')}.marker` }])
  })

  test('none is the field of a candidate without copies', () => {
    expect(findProblems(text('market', 'none', ', request: { set: { X-Shadow: "0" } }'))).toEqual([])
  })
})

describe('a word that does nothing gets a warning', () => {
  test.each([
    ['market', '{ posts: true, sideEffects: none }', 'posts', 'the group has no POST'],
    ['market', '{ sideEffects: none }', 'sideEffects', 'no POST is copied'],
    ['risk', '{ sideEffects: none }', 'sideEffects', 'no POST is copied'],
  ])('in %s %s', (group, shadow, key, message) => {
    const result = parse(text(group, shadow))

    expect(result.ok && result.warnings).toMatchObject([
      { path: `${at(group)}.${key}`, message: expect.stringContaining(message) },
    ])
  })

  test('more workers than copies at once', () => {
    const result = parse(`${text('market', '{ concurrency: 1 }')}\nworkers: 2`)

    expect(result.ok && result.warnings.filter(({ path }) => path !== 'workers')).toMatchObject([
      { path: `${at('market')}.concurrency`, message: 'this is exceeded: each of 2 workers takes one at least' },
    ])
  })

  test('and no other', () => {
    for (const written of [text('market', '{}'), text('risk', '{ posts: true, sideEffects: none }')])
      expect(parse(written)).toMatchObject({ ok: true, warnings: [] })
  })
})

test('workers share its bounds', () => {
  const config = validConfig(text('market', '{ concurrency: 5, maxBytes: 9MiB, maxBody: 1MiB }'))

  expect(perWorkerConfig(config, 4).upstreams.market.candidate?.shadow).toMatchObject({
    sample: 0.1,
    concurrency: 2,
    maxBytes: (9 * mebibyte) / 4,
    maxBody: mebibyte,
  })
})

describe('how answers are compared', () => {
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
    expect(JSON.stringify(reportConfig(validConfig(text(written))))).toContain(
      '"numbers":"1%","arrays":{"/items":"id"}',
    )
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
})
