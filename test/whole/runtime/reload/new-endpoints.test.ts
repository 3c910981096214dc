import { expect, test } from 'vitest'
import { newEndpoints } from '../../../../src/core/runtime/reload/new-endpoints.ts'
import { testConfig } from '../../../helpers/gateway.ts'

const config = (market: unknown, more: object = {}) => testConfig({ upstreams: { market }, ...more })

/** Lists the endpoints that an edit of a group adds. */
const addedBy = (from: unknown, to: unknown): readonly string[] =>
  newEndpoints(config(from), config(to)).map(({ group, endpoint: { origin } }) => `${group} ${origin}`)

const a = 'http://a.internal'
const b = 'http://b.internal'
const secure = { endpoints: ['https://s.internal'] }
const secured = { endpoints: [a], candidate: secure }
const tls = { tls: { minVersion: 'TLSv1.3' } }

test.each<[string, unknown, unknown, readonly string[]]>([
  ['another endpoint', a, b, [`market ${b}`]],
  ['one more', a, { endpoints: [a, b] }, [`market ${b}`]],
  ['one less', { endpoints: [a, b] }, a, []],
  ['the same elsewhere in the list', { endpoints: [a, b] }, { endpoints: [b, a] }, []],
  ['another weight', { endpoints: [a, b] }, { endpoints: [a, { url: b, weight: 1 }] }, []],
  ['a weight after none', { endpoints: [a, { url: b, weight: 0 }] }, { endpoints: [a, b] }, [`market ${b}`]],
  ['one of no weight', a, { endpoints: [a, { url: b, weight: 0 }] }, []],
  ['another timeout', a, { endpoints: [a], timeouts: { headers: '1s' } }, []],
  ['another path on the same origin', a, `${a}/v2`, []],
  ['the sandbox', a, 'sandbox', []],
  ['other settings of TLS', secure, { ...secure, ...tls }, ['market https://s.internal']],
  ['the same without TLS', { endpoints: [a] }, { endpoints: [a], ...tls }, []],
])('%s', (_, from, to, names) => {
  expect(addedBy(from, to)).toEqual(names)
})

test.each<[string, unknown, unknown, readonly string[]]>([
  ['one that is new', a, { endpoints: [a], candidate: b }, ['candidate http://b.internal']],
  ['one that stays', { endpoints: [a], candidate: b }, { endpoints: [a], candidate: b, balance: 'round-robin' }, []],
  ['one that goes', { endpoints: [a], candidate: b }, a, []],
  ['the primary as its own', a, { endpoints: [a], candidate: a }, []],
  [
    'other settings of TLS, that it has of its group',
    secured,
    { ...secured, ...tls },
    ['candidate https://s.internal'],
  ],
  ['promoted: it has never served alone', { endpoints: [a], candidate: b }, b, ['primary http://b.internal']],
  // The one that is left may be down.
  ['the two changed around', { endpoints: [a], candidate: b }, { endpoints: [b], candidate: a }, [`primary ${b}`]],
])('of a candidate: %s', (_, from, to, names) => {
  const added = newEndpoints(config(from), config(to)).map(({ side, endpoint: { origin } }) => `${side} ${origin}`)

  expect(added).toEqual(names)
})

test('an endpoint that another group has is new to this one', () => {
  const from = testConfig({ upstreams: { risk: a, market: b } })
  const to = testConfig({ upstreams: { risk: a, market: a } })

  expect(newEndpoints(from, to).map(({ group }) => group)).toEqual(['market'])
})
