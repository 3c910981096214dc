// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
/** A rule across several keys judges what a variable says as it judges what the file says. */
import { expect, test } from 'vitest'
import { findProblems, sandbox, withRisk } from '../../../core/config/helper.ts'

const jwt = 'jwt: { issuer: a, audience: [b], jwks: https://login.example/jwks }'
const audit = (keys: string): string => `${sandbox}\naudit: { key: "\${KEY}", ${keys} }`
const risk = (keys: string): string => withRisk(` { endpoints: [http://a.internal], ${keys} }`)

const judge = (text: string) =>
  findProblems(text, { KEY: 'k'.repeat(32) }).map(({ path, message }) => ({ path, message }))

test.each<[string, string, string, string | null]>([
  ['a token method without settings', `${sandbox}\nauth: { methods: [?] }`, 'jwt', 'auth.methods[0]'],
  [
    'a token method of an operation without settings',
    `${sandbox}\nauth: { methods: [apiKey] }\noperations: { market.insights: { auth: { methods: [?] } } }`,
    'introspection',
    'operations.market.insights.auth.methods[0]',
  ],
  ['certificates that no client is asked for', `${sandbox}\nauth: { methods: [?] }`, 'mtls', 'auth.methods[0]'],
  [
    'scopes asked of a key',
    `${sandbox}\nauth: { methods: [?] }\noperations: { market.insights: { auth: { scopes: [read] } } }`,
    'apiKey',
    'operations.market.insights.auth.scopes',
  ],
  [
    'an identity in the field of tokens',
    `${sandbox}\nauth: { methods: [?], ${jwt}, identityField: Authorization }`,
    'jwt',
    'auth.identityField',
  ],
  [
    'tokens that have to be bound',
    `${sandbox}\nlisten: { publicUrl: https://gateway.example }\nauth: { methods: [?], ${jwt}, bound: required, dpop: {} }`,
    'jwt',
    null,
  ],
  ['standard output that is rotated', audit('file: ?, rotate: 1MiB'), 'stdout', 'audit.rotate'],
  ['standard output that is not rotated', audit('file: stdout, rotate: ?'), 'none', null],
  ['a contract without a file that is not learnt', `${sandbox}\ncontract: { learn: ? }`, 'false', 'contract'],
  ['a contract that is learnt', `${sandbox}\ncontract: { learn: ? }`, 'true', null],
  ['no Redis to encrypt for', `${sandbox}\nidempotency: { redis: ? }`, 'none', null],
  [
    'no idempotency whose key could stand in a field of another meaning',
    `${sandbox}\nidempotency: { header: X-Request-Id }\noperations: { valuation.score: { idempotency: ? } }`,
    'false',
    null,
  ],
  [
    'the field of the request id, removed',
    risk('response: { remove: [?] }'),
    'X-Request-Id',
    'upstreams.risk.response.remove[0]',
  ],
  [
    'a field of the side that is set to something else',
    risk('response: { set: { X-Side: a } }, candidate: { endpoints: [http://b.internal], expose: ? }'),
    'X-Side',
    'upstreams.risk.candidate.expose',
  ],
  [
    'the field that marks copies, removed',
    risk('request: { remove: [?] }, candidate: { endpoints: [http://b.internal], shadow: { sample: 10% } }'),
    'X-Shadow',
    'upstreams.risk.candidate.shadow',
  ],
])('%s', (_, text, value, path) => {
  const stated = judge(text.replace('?', value))
  const fromVariable = judge(text.replace('?', `"\${NAME:-${value}}"`))

  expect(stated.map((problem) => problem.path)).toEqual(path === null ? [] : [path])
  expect(fromVariable).toEqual(stated)
})
