import { expect, test } from 'vitest'
import { newEndpoints } from '../../../src/runtime/reload/new-endpoints.ts'
import { testConfig } from '../../helpers/gateway.ts'

const config = (market: unknown, more: object = {}) => testConfig({ upstreams: { market }, ...more })

/** Lists the endpoints that an edit of a group adds. */
const addedBy = (from: unknown, to: unknown): readonly string[] =>
  newEndpoints(config(from), config(to)).map(({ group, endpoint: { origin } }) => `${group} ${origin}`)

const a = 'http://a.internal'
const b = 'http://b.internal'
const secure = { endpoints: ['https://s.internal'] }

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
  ['other settings of TLS', secure, { ...secure, tls: { minVersion: 'TLSv1.3' } }, ['market https://s.internal']],
  ['the same without TLS', { endpoints: [a] }, { endpoints: [a], tls: { minVersion: 'TLSv1.3' } }, []],
])('%s', (_, from, to, names) => {
  expect(addedBy(from, to)).toEqual(names)
})

test('an endpoint that another group has is new to this one', () => {
  const from = testConfig({ upstreams: { risk: a, market: b } })
  const to = testConfig({ upstreams: { risk: a, market: a } })

  expect(newEndpoints(from, to).map(({ group }) => group)).toEqual(['market'])
})
