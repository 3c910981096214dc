// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { formatProblems } from '../../../../src/core/config/problem.ts'
import { holdsSecrets, schemaKeys } from '../../../../src/core/config/schema/schema-keys.ts'
import { folderWith, parse, sandbox, validConfig, withRisk } from '../../../core/config/helper.ts'

const secret = 'hunter2-s3cret'
const environment = { SECRET: secret, LINES: `${secret}\n${secret}`, EMPTY: '' }

/** Renders all that the gateway shows of a file, to operators and programs. */
function printProblems(text: string): string {
  const folder = folderWith({ key: `${secret}\n${secret}`, binary: Buffer.from(`${secret}\xff`, 'latin1') })
  const result = parse(text, environment, join(folder, 'gateway.yaml'))
  const problems = result.ok ? result.warnings : result.problems
  expect(problems).not.toHaveLength(0)
  return formatProblems(problems) + JSON.stringify(problems)
}

const risk = (...lines: readonly string[]): string =>
  withRisk(['', 'endpoints: [http://risk.internal]', ...lines].join('\n    '))

describe('a secret is in no problem', () => {
  const values = [
    ...[`"${secret}\\n"`, `" ${secret}"`, `[${secret}]`, `{ ${secret}x: ${secret} }`, `&a ${secret}`, `!t ${secret}`],
    ...['"${LINES}"', '"a ${LINES}"', 'file:key', 'file:binary', `"€${secret}"`],
  ]
  test.each(values)('as the value of a field: %j', (value) => {
    for (const direction of ['request', 'response']) {
      expect(printProblems(risk(`${direction}:`, '  set:', `    X-Api-Key: ${value}`, '  bogus: 1'))).not.toContain(
        secret,
      )
    }
  })

  test.each([
    ['for the map of fields', 'request:', `  set: ${secret}`],
    ['for the whole request', `request: ${secret}`],
    ['in a list of fields', 'request:', '  set:', `    - X-Api-Key: ${secret}`],
    ['as a name of a field', 'request:', '  set:', `    "X-Api-Key: ${secret}": a`],
    ['twice', 'request:', '  set:', `    X-A: ${secret}`, `    X-A: ${secret}`],
    ['with a bad escape', 'request:', '  set:', `    X-A: "${secret}\\q"`],
    ['without an end', 'request:', '  set:', `    X-A: "${secret}`],
    ['with a colon', 'request:', '  set:', `    X-A: ${secret}: ${secret}`],
    ['under a wrong key', 'request:', '  sets:', `    X-A: ${secret}`],
    ['as a field to remove', 'request:', `  remove: [ "${secret} " ]`],
    ['as an unquoted placeholder', 'request:', `  set: { X-A: ${secret}$\{SECRET} }`],
    ['for a field that is the gateway’s', 'request:', '  set:', `    Host: ${secret}`],
  ])('%s', (_where, ...lines) => {
    expect(printProblems(risk(...lines))).not.toContain(secret)
  })

  test.each([
    `http://user:${secret}@risk.internal`,
    `http://${secret}@risk.internal`,
    `http://a/?key=${secret}`,
    `"http://a/#${secret}"`,
    `user:${secret}@risk.internal`,
    `ftp://user:${secret}@risk`,
    `https:/user:${secret}@risk`,
  ])('in a URL: %s', (url) => {
    expect(printProblems(withRisk(` ${url}`))).not.toContain(secret)
    expect(printProblems(withRisk(`\n    endpoints:\n      - url: ${url}\n        weight: "1"`))).not.toContain(secret)
  })

  const privateKey = `  key: "-----BEGIN PRIVATE KEY-----${secret}"`

  test.each([
    ['for the whole section', `tls: ${secret}`],
    ['in a list', `tls: [${secret}]`],
    ['as a key', 'tls:', `  "${secret} ": a`],
    ['for an authority', 'tls:', `  ca: "${secret}"`],
    ['for an authority, in a list', 'tls:', `  ca: [${secret}]`],
    ['for a key', 'tls:', `  key: "${secret}"`],
    ['for a key, with a bad escape', 'tls:', `  key: "${secret}\\q"`],
    ['for a key, from a file', 'tls:', '  key: file:key'],
    ['for a key, from a file that is no text', 'tls:', '  key: file:binary'],
    ['for a key, from the environment', 'tls:', '  key: "${SECRET}"'],
    ['for a key without its certificate', 'tls:', privateKey],
    ['for a pair that cannot be read', 'tls:', `  certificate: "-----BEGIN CERTIFICATE-----${secret}"`, privateKey],
    ['for an authority that cannot be read', 'tls:', `  ca: "-----BEGIN CERTIFICATE-----${secret}"`],
  ])('under tls, %s', (_where, ...lines) => {
    expect(printProblems(risk(...lines))).not.toContain(secret)
    expect(printProblems(`defaults:\n${lines.map((line) => `  ${line}\n`).join('')}${sandbox}`)).not.toContain(secret)
  })

  const listen = ['host: "?:1"', 'port: ?', 'basePath: ?', 'trustedProxies: [?]', 'trustedProxies: ?', 'via: "? ?"']
  const limits = ['maxTarget: ?', 'maxConnections: ?', 'timeouts: { headers: ? }']
  const defaults = ['deadline: ?', 'maxBody: ?', 'balance: ?', 'outlier: ?', 'outlier: { failureRate: ? }']
  const policies = ['healthCheck: { path: ? }', 'healthCheck: { path: /, expect: ? }', 'retry: { on: [?] }']
  const tls = ['tls: ?', 'tls: { ca: ? }', 'tls: { serverName: "? ?" }']
  const whole = ['version: ?', 'allowSandbox: ?', 'requestId: ?', 'listen: ?', 'operations: ?', 'bogus: ?']
  const scores = ['{ state: ? }', '{ cache: ? }', '?']
  const places = [
    ...whole,
    ...['requestId: { header: "a ?" }', 'admin: { port: ? }', 'log: { level: ? }', 'log: { access: ? }'],
    ...['reload: { preflight: ? }', 'shutdown: { wait: ? }'],
    ...[...listen, ...limits].map((line) => `listen: { ${line} }`),
    ...[...defaults, ...policies, ...tls].map((line) => `defaults: { ${line} }`),
    ...scores.map((score) => `operations: { valuation.score: ${score} }`),
    'auth: { methods: [apiKey, ?] }\noperations: { market.insights: { auth: { scopes: [read] } } }',
  ]
  test.each(places)('from the environment: %s', (place) => {
    const quoted = (placeholder: string): string =>
      place.includes('"') ? place.replaceAll('?', placeholder) : place.replaceAll('?', `"${placeholder}"`)

    expect(printProblems(`${quoted('${SECRET}')}\n${sandbox}`)).not.toContain(secret)
    expect(printProblems(`${quoted('a${SECRET}b')}\n${sandbox}`)).not.toContain(secret)
  })

  test.each([
    '"${SECRET}"',
    '"http://${SECRET}@a"',
    '{ endpoints: "${SECRET}" }',
    '{ endpoints: ["${SECRET}"] }',
    '{ endpoints: [{ url: "${SECRET}", weight: "${SECRET}" }] }',
    '{ endpoints: [http://a], host: "${SECRET} " }',
    '{ endpoints: [http://a], "${SECRET}": "${SECRET}" }',
  ])('from the environment, in an upstream: %s', (value) => {
    expect(printProblems(withRisk(` ${value}`))).not.toContain(secret)
  })

  test('from the environment, for all upstreams', () => {
    expect(printProblems('upstreams: "${SECRET}"')).not.toContain(secret)
  })
})

test.each([
  ['a key of idempotency, in hex', 'idempotency: { encryptionKeys: ? }', '0123456789abcdef'.repeat(4)],
  ['a key of idempotency, in base64', 'idempotency: { encryptionKeys: ? }', `${'hunter2hunter'.repeat(3)}abcd=`],
  ['TLS to Redis', 'limits: { redis: { url: "rediss://redis", tls: ? } }', secret],
  ['the whole of admin', 'admin: ?', secret],
])('a secret that stands for a list or a map is in no problem: %s', (_where, line, value) => {
  expect(printProblems(`${line.replace('?', value)}\n${sandbox}`)).not.toContain(value)
})

describe('a secret key that stands in the file itself is in no problem', () => {
  test.each([
    ['a key set', `{"keys":[{"kty":"oct","k":"${secret}"}]}`],
    ['a list of keys', `[ {"kty":"oct","k":"${secret}"}]`],
    ['PEM', `-----BEGIN PRIVATE KEY-----\\n${secret}`],
    ['PEM behind a line', `key:\\n-----BEGIN PRIVATE KEY-----\\n${secret}`],
  ])('as %s', (_, value) => {
    const places = [
      `auth: { methods: [jwt], jwt: { issuer: a, audience: [b], jwks: ? } }`,
      `admin: { jwt: { issuer: a, audience: [b], jwks: ? } }`,
      `auth: { methods: [mtls], mtls: { from: client-cert, ca: ? } }`,
    ]
    const quoted = `"${value.replaceAll('"', '\\"')}"`

    for (const place of places) expect(printProblems(`${place.replace('?', quoted)}\n${sandbox}`)).not.toContain(secret)
  })
})

test('what holds a secret is itself never shown', () => {
  // A certificate beside no secret key may be shown.
  const secrets = schemaKeys.filter((key) => key.secret && key.sensitive !== false)
  const parents = secrets.map(({ path }) => path.slice(0, -1))

  const shown = parents.filter((path) => !holdsSecrets(path.map((key) => (key === '#' ? 0 : key))))

  expect(shown.map((path) => path.join('.'))).toEqual([])
})

test.each([
  ['a file', 'X-A: "file:key"', true, true],
  ['the environment', 'X-A: "${KEY}"', true, true],
  ['the file itself, for a field that names a credential', 'Authorization: Bearer a', true, true],
  ['the file itself, for a field of any name', 'X-Team: a', false, true],
  ['the file itself, for a field that is harmless by its name', 'USER-AGENT: a', false, false],
  ['a file, for a field that is harmless by its name', 'User-Agent: "file:key"', true, true],
])('a value from %s is a credential or not, and hidden or not', (_where, line, secret, hidden) => {
  const folder = folderWith({ key: 'a' })
  const config = validConfig(risk('request:', '  set:', `    ${line}`), { KEY: 'a' }, join(folder, 'gateway.yaml'))

  expect(config.upstreams.risk.request.set[0]).toMatchObject({ secret, hidden })
})
