import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { groups } from '../../../src/operations.ts'
import { folderWith, parse, sandbox } from '../../core/config/helper.ts'

const proxied = 'mtls: { from: client-cert }'
const own = {
  apiKeys: [{ id: 'k', sha256: 'ab'.repeat(32) }],
  certificates: ['sha256:'.padEnd(71, 'a')],
  claims: { sub: 'a' },
}
const jwt = 'jwt: { issuer: a, audience: [b], jwks: https://login.example/jwks }'

/** Loads a configuration of three clients in a file of their own; only the last has credentials. */
const load = (key: keyof typeof own, auth: string, more = '') => {
  const [first, second, third] = ['a', 'b', 'c'].map((id) => ({ id, operations: 'all' }))
  const folder = folderWith({
    'gateway.yaml': `${sandbox}\nlisten: { trustedProxies: [192.0.2.1] }\nauth: ${auth}\nclients: [file:one.json, file:two.json]\n${more}`,
    'one.json': JSON.stringify([first]),
    'two.json': JSON.stringify([second, { ...third, [key]: own[key] }], null, 1),
  })
  const result = loadConfig(join(folder, 'gateway.yaml'))
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings.map(({ file, line, path, message, expected }) => ({
    ...{ file: file.replace(`${folder}/`, ''), line, path },
    ...{ message, expected },
  }))
}

const one = 'operations: { market.insights: { auth: { methods: [mtls] } } }'

test.each([
  ['apiKeys', `{ methods: [mtls], ${proxied} }`, '', 'apiKey'],
  ['certificates', '{ methods: [apiKey] }', '', 'mtls'],
  ['claims', '{ methods: [apiKey] }', '', 'jwt or introspection'],
  ['certificates', `{ methods: [apiKey], ${proxied} }`, one, null],
  ['claims', `{ methods: [jwt], ${jwt} }`, '', null],
  ['apiKeys', '{ methods: [apiKey] }', '', null],
] as const)(
  '%s get a warning where they stand first if no operation asks for them: auth: %s %s',
  (key, auth, more, method) => {
    const warning = {
      ...{ file: 'two.json', line: 9, path: `[1].${key}`, expected: `${method} among methods, or no ${key}` },
      message: 'this does nothing: no operation accepts this credential',
    }

    expect(load(key, auth, more)).toEqual(method === null ? [] : [warning])
  },
)

test('an unused Client-Cert gets a warning; tokens may be bound to its certificate', () => {
  const warned = (methods: string) => {
    const result = parse(
      `${sandbox}\nlisten: { trustedProxies: [192.0.2.1] }\nauth: { methods: ${methods}, ${proxied} }\nclients: [{ id: a, operations: all }]`,
    )
    return result.ok && result.warnings.map(({ path, message }) => [path, message])
  }

  expect(warned('[apiKey]')).toEqual([['auth.mtls', 'this does nothing: no operation reads certificates of clients']])
  expect(warned('[mtls]')).toEqual([])
  expect(warned(`[jwt], ${jwt}`)).toEqual([])
})

test.each(['', '\nclients: []', '\nclients: file:clients.json'])(
  'clients who have to say who they are, and are none, get a warning (%j)',
  (clients) => {
    const folder = folderWith({ 'clients.json': '[]' })

    const result = parse(`${sandbox}\nauth: { methods: [apiKey] }${clients}`, {}, join(folder, 'gateway.yaml'))

    expect(result.ok && result.warnings).toMatchObject([{ path: 'clients', found: 'none' }])
  },
)

test('an upstream, or a candidate, that does not get the client’s id gets a warning', () => {
  const upstreams = {
    ...Object.fromEntries(groups.map((group) => [group, 'sandbox'])),
    risk: { endpoints: ['http://a'], request: { remove: ['X-Other', 'x_client_id'] } },
    market: { endpoints: ['http://b'], candidate: { endpoints: ['http://c'], request: { remove: ['X-Client-Id'] } } },
  }
  const warned = (auth: object) => {
    const result = parse(JSON.stringify({ upstreams, auth, clients: [{ id: 'a', operations: 'all' }] }))
    if (!result.ok) throw new Error(JSON.stringify(result.problems))
    return result.warnings.filter(({ message }) => message.includes('does not get the client')).map(({ path }) => path)
  }

  expect(warned({ methods: ['apiKey'], identityField: 'X-Client-Id' })).toEqual([
    'upstreams.risk.request.remove[1]',
    'upstreams.market.candidate.request.remove[0]',
  ])
  expect(warned({ methods: ['apiKey'] })).toEqual([])
})
