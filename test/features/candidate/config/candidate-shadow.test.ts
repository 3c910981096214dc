// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
/** The copies that a candidate gets: what the file says, what it must not say, and what it says for nothing. */

import { describe, expect, test } from 'vitest'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import { perWorkerConfig } from '../../../../src/features/workers/worker-pool.ts'
import { findProblems, parse, sandbox, validConfig } from '../../../core/config/helper.ts'

const mebibyte = 1024 ** 2

/** Renders a group whose candidate has a shadow, and these other keys. */
const text = (shadow: string, group = 'market', candidate = '', own = ''): string =>
  sandbox.replace(
    `${group}: sandbox`,
    `${group}: { endpoints: [https://a], healthCheck: { path: /up }${own}, candidate: { endpoints: [https://b], shadow: ${shadow}${candidate} } }`,
  )

const comparing = (compare: string): string => text(`{ compare: ${compare} }`)

const shadowOf = (written: string, environment = {}) =>
  validConfig(written, environment).upstreams.market.candidate?.shadow

const compareOf = (compare: string, environment = {}) => shadowOf(comparing(compare), environment)?.compare

const at = (group: string): string => `upstreams.${group}.candidate.shadow`

test('a candidate gets no copies unless the file says so', () => {
  const without = sandbox.replace('market: sandbox', 'market: { endpoints: [https://a], candidate: https://b }')

  expect([without, text('none'), text('false')].map((written) => shadowOf(written))).toEqual([null, null, null])
})

test('by default a tenth of the GETs is copied, without credentials', () => {
  const rules = { ignore: [], numbers: null, arrays: {}, fields: [] }

  expect(shadowOf(text('{}'))).toEqual({
    ...{ sample: 0.1, posts: false, sideEffects: null, credentials: 'remove', marker: 'X-Shadow' },
    compare: { ...rules, noise: false, examples: false, minEqual: 0.99 },
    ...{ timeout: 30_000, concurrency: 64, maxBody: mebibyte, maxBytes: 64 * mebibyte },
  })
})

test('its report is a configuration with the same report', () => {
  const written = '{ sample: 25%, posts: true, sideEffects: none, marker: X-Copy, maxBody: 64KiB }'
  const { config } = reportConfig(validConfig(text(written, 'valuation')))

  expect(reportConfig(validConfig(JSON.stringify(config))).config).toEqual(config)
  const shadow = { sample: '25%', posts: true, sideEffects: 'none', marker: 'X-Copy' }
  expect(config).toMatchObject({ upstreams: { valuation: { candidate: { shadow } } } })
})

describe('POSTs are copied by two words', () => {
  test.each([
    ['valuation', 'valuation.score, valuation.forecast'],
    ['risk', 'risk.asset-valuation'],
  ])('of %s the first alone is an error in its place, which names the operations', (group, names) => {
    const problems = findProblems(text('{ posts: true }', group))

    expect(problems).toMatchObject([
      {
        ...{ path: `${at(group)}.posts`, line: 1, expected: `sideEffects: none beside it, for ${names}` },
        hint: 'add sideEffects: none if nothing that the candidate does lasts, or remove posts',
      },
    ])
    expect(problems[0]?.column).toBeGreaterThan(1)
  })

  test.each<[string, string, string | null]>([
    ['{ posts: "${POSTS}" }', 'true', 'posts'],
    ['{ posts: "${POSTS}" }', 'false', null],
    ['{ posts: true, sideEffects: none }', '', null],
    ['{ posts: true, sideEffects: few }', '', 'sideEffects'],
  ])('%s, where a variable is %j: %j is wrong', (shadow, POSTS, key) => {
    const paths = findProblems(text(shadow, 'risk'), { POSTS }).map(({ path }) => path)

    expect(paths).toEqual(key === null ? [] : [`${at('risk')}.${key}`])
  })
})

describe('a marker that means something else is an error', () => {
  const ofGroup = ', request: { set: { X-A: "0" } }'
  const identified = 'auth: { methods: [apiKey], identityField: X-Client-Id }\nclients: [{ id: a, operations: all }]'

  test.each([
    ['the field of requestId.header', text('{ marker: X-Request-Id }'), '.marker'],
    ['the field of auth.identityField', `${text('{ marker: X-Client-Id }')}\n${identified}`, '.marker'],
    ...['set: { X_Shadow: "0" }', 'set: { x-shadow: "0" }', 'remove: [X-Shadow]'].map((fields) => [
      `a field of upstreams.market.candidate.request.${fields.split(':')[0]}`,
      text('{}', 'market', `, request: { ${fields} }`),
      '',
    ]),
    ['a field of upstreams.market.request.set', text('{ marker: X-A }', 'market', '', ofGroup), '.marker'],
  ])('%s', (found, written, key) => {
    expect(findProblems(written)).toMatchObject([{ path: `${at('market')}${key}`, found }])
  })

  test.each(['Host', 'Connection', 'Content-Length', 'Via', 'X-Forwarded-For', 'a b'])('%s', (marker) => {
    expect(findProblems(text(`{ marker: "${marker}" }`))).toMatchObject([{ path: `${at('market')}.marker` }])
  })

  test('a candidate without copies has no marker field', () => {
    expect(findProblems(text('none', 'market', ', request: { set: { X-Shadow: "0" } }'))).toEqual([])
  })
})

describe('a word that does nothing, or that tells much, gets a warning', () => {
  const posts = 'posts: true, sideEffects: none'
  const nothing = 'this does nothing: the group has no GET, and its POSTs are not copied'

  test.each([
    ['market', `{ ${posts} }`, '.posts', 'the group has no POST'],
    ['market', '{ sideEffects: none }', '.sideEffects', 'no POST is copied'],
    ['risk', '{ sideEffects: none }', '.sideEffects', 'no POST is copied'],
    ['risk', `{ compare: { noise: true }, ${posts} }`, '.compare.noise', 'a POST is never sent to the primary twice'],
    ['market', '{ compare: { examples: true } }', '.compare.examples', 'VALUES OF RESPONSES ARE KEPT'],
    ['risk', '{}', '', nothing],
  ])('in %s %s', (group, shadow, key, message) => {
    const result = parse(text(shadow, group))

    expect(result.ok && result.warnings).toMatchObject([
      { path: `${at(group)}${key}`, message: expect.stringContaining(message) },
    ])
  })

  test('more workers than shadow.concurrency get a warning', () => {
    const result = parse(`${text('{ concurrency: 1 }')}\nworkers: 2`)

    expect(result.ok && result.warnings.filter(({ path }) => path !== 'workers')).toMatchObject([
      { path: `${at('market')}.concurrency`, message: 'this is exceeded: each of 2 workers takes one at least' },
    ])
  })

  test('a sound shadow gets no warning', () => {
    for (const written of [text('{}'), text(`{ ${posts} }`, 'risk')])
      expect(parse(written)).toMatchObject({ ok: true, warnings: [] })
  })
})

test('workers share the bounds of copies', () => {
  const config = validConfig(text('{ concurrency: 5, maxBytes: 9MiB, maxBody: 1MiB }'))
  const { shadow } = perWorkerConfig(config, 4).upstreams.market.candidate ?? {}

  expect(shadow).toMatchObject({ sample: 0.1, concurrency: 2, maxBytes: (9 * mebibyte) / 4, maxBody: mebibyte })
})

describe('how responses are compared', () => {
  test('compare: none turns the comparison off', () => {
    expect(['none', 'false'].map((compare) => compareOf(compare))).toEqual([null, null])
  })

  test('every key of compare is read, and rendered as it was written', () => {
    const rules = '[/generatedAt, "/items/*/id", /a~1b], numbers: 1%, arrays: { /items: id }, fields: [Location]'
    const written = `{ ignore: ${rules}, noise: true, minEqual: 99.9% }`

    expect(compareOf(written)).toEqual({
      ...{ ignore: ['/generatedAt', '/items/*/id', '/a~1b'], numbers: { relative: 0.01 } },
      ...{ arrays: { '/items': 'id' }, fields: ['location'], noise: true, examples: false, minEqual: 0.999 },
    })
    const rendered = JSON.stringify(reportConfig(validConfig(comparing(written))))
    expect(rendered).toContain('"numbers":"1%","arrays":{"/items":"id"}')
  })

  test.each<[string, string, object | null]>([
    ['0.005', '', { absolute: 0.005 }],
    ['0', '', { absolute: 0 }],
    ['none', '', null],
    ['"${FAR}"', '0.005', { absolute: 0.005 }],
    ['"${FAR}"', '2', { absolute: 2 }],
    ['"${FAR}"', '1%', { relative: 0.01 }],
    ['"${FAR}"', 'false', null],
  ])('numbers may be an amount apart: %s, where a variable is %j', (written, FAR, numbers) => {
    expect(compareOf(`{ numbers: ${written} }`, { FAR })).toMatchObject({ numbers })
  })

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
  ])('%s is no rule, and what was probably meant is said', (compare, path, hint) => {
    const [problem, ...others] = findProblems(comparing(compare))

    expect(others).toEqual([])
    expect(problem?.path).toBe(`${at('market')}.compare.${path}`)
    if (hint !== undefined) expect(problem?.hint).toBe(hint)
  })
})
