// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
/** A rule across several keys judges what a variable says as it judges what the file says. */
import { expect, test } from 'vitest'
import { findProblems, sandbox, withRisk } from '../../../core/config/helper.ts'

const jwt = 'jwt: { issuer: a, audience: [b], jwks: https://login.example/jwks }'
const audit = (keys: string): string => `${sandbox}\naudit: { key: "\${KEY}", ${keys} }`
const risk = (keys: string): string => withRisk(` { endpoints: [http://a.internal], ${keys} }`)

const judge = (text: string) =>
  findProblems(text, { KEY: 'k'.repeat(32) }).map(({ path, message }) => ({ path, message }))

const methods = (more = ''): string => `${sandbox}\nauth: { methods: [?]${more} }`
const insights = (auth: string): string => `operations: { market.insights: { auth: { ${auth} } } }`
const scopes = 'operations.market.insights.auth'
const ofIntrospection = `${sandbox}\nauth: { methods: [apiKey] }\n${insights('methods: [?]')}`
const bound = `listen: { publicUrl: https://gateway.example }\n${methods(`, ${jwt}, bound: required, dpop: {}`)}`
const contract = `${sandbox}\ncontract: { learn: ? }`
const header = 'idempotency: { header: X-Request-Id }\noperations: { valuation.score: { idempotency: ? } }'
const candidate = (more: string): string => `candidate: { endpoints: [http://b.internal], ${more} }`
const side = risk(`response: { set: { X-Side: a } }, ${candidate('expose: ?')}`)
const copies = risk(`request: { remove: [?] }, ${candidate('shadow: { sample: 10% }')}`)

test.each<[string, string, string, string | null]>([
  ['a token method without settings', methods(), 'jwt', 'auth.methods[0]'],
  ['a token method of an operation without settings', ofIntrospection, 'introspection', `${scopes}.methods[0]`],
  ['certificates that no client is asked for', methods(), 'mtls', 'auth.methods[0]'],
  ['scopes asked of a key', `${methods()}\n${insights('scopes: [read]')}`, 'apiKey', `${scopes}.scopes`],
  ['an identity in that of tokens', methods(`, ${jwt}, identityField: Authorization`), 'jwt', 'auth.identityField'],
  ['tokens that have to be bound', bound, 'jwt', null],
  ['standard output that is rotated', audit('file: ?, rotate: 1MiB'), 'stdout', 'audit.rotate'],
  ['standard output that is not rotated', audit('file: stdout, rotate: ?'), 'none', null],
  ['a contract without a file that is not learned', contract, 'false', 'contract'],
  ['a contract that is learned', contract, 'true', null],
  ['no Redis to encrypt for', `${sandbox}\nidempotency: { redis: ? }`, 'none', null],
  ['no idempotency whose key could stand in another field', `${sandbox}\n${header}`, 'false', null],
  ['the request id, removed', risk('response: { remove: [?] }'), 'X-Request-Id', 'upstreams.risk.response.remove[0]'],
  ['a field of the side that is set', side, 'X-Side', 'upstreams.risk.candidate.expose'],
  ['the field that marks copies, removed', copies, 'X-Shadow', 'upstreams.risk.candidate.shadow'],
])('%s', (_, text, value, path) => {
  const stated = judge(text.replace('?', value))
  const fromVariable = judge(text.replace('?', `"\${NAME:-${value}}"`))

  expect(stated.map((problem) => problem.path)).toEqual(path === null ? [] : [path])
  expect(fromVariable).toEqual(stated)
})
