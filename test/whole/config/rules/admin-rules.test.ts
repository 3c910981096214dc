// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { describe, expect, test } from 'vitest'
import { findProblems, parse, sandbox } from '../../../core/config/helper.ts'
import { adminAudience, adminJwt } from '../../../helpers/operator-jwts.ts'
import { audience, issuer, jwks, signingKey } from '../../../helpers/tokens.ts'

const problemsOf = (jwt: object, more: object = {}) =>
  findProblems(asYaml(jwt, more)).map(({ path, message }) => `${path}: ${message}`)

const asYaml = (jwt: object, more: object = {}): string =>
  `${sandbox}\n${Object.entries({ admin: { jwt }, ...more })
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join('')}`

describe('admin.jwt', () => {
  test('has the keys of auth.jwt with the same defaults, and three of its own', () => {
    const own = { issuer, audience: [adminAudience], scopes: { a: 'read' } }
    const result = parse(asYaml({ ...own, jwks: 'https://login.example/' }))

    expect(result.ok && result.config.admin.jwt).toEqual({
      ...own,
      jwks: { url: 'https://login.example/' },
      ...{ algorithms: ['PS256', 'ES256', 'EdDSA', 'Ed25519'], types: ['at+jwt'], clockTolerance: 5000 },
      ...{ nameClaim: 'sub', scopeClaim: 'scope' },
    })
  })

  const noKey = 'no key of admin.jwt.jwks fits one of these, so every token is rejected'

  test.each<[string, object, string]>([
    ['no issuer', { issuer: undefined }, 'admin.jwt.issuer: missing'],
    ['no audience', { audience: undefined }, 'admin.jwt.audience: missing'],
    ['an empty audience', { audience: [] }, 'admin.jwt.audience: the list is empty'],
    ['no keys', { jwks: undefined }, 'admin.jwt.jwks: missing'],
    ['keys in the clear', { jwks: 'http://login.example/keys' }, 'admin.jwt.jwks: not encrypted'],
    ['no scopes', { scopes: undefined }, 'admin.jwt.scopes: missing'],
    ['empty scopes', { scopes: {} }, 'admin.jwt.scopes: an empty map gives no token access'],
    ['a scope that there is not', { scopes: { a: 'admin' } }, 'admin.jwt.scopes.a: unknown value'],
    ['a value with a blank behind it', { scopes: { 'a ': 'read' } }, 'admin.jwt.scopes."a ": not the value of a claim'],
    ['a placeholder', { scopes: { '${TEAM}': 'read' } }, 'admin.jwt.scopes."${TEAM}": a placeholder in a key'],
    ['a claim that is none', { nameClaim: 'a b' }, 'admin.jwt.nameClaim: not the name of a claim'],
    ['a claim that every object has', { scopeClaim: '__proto__' }, 'admin.jwt.scopeClaim: not the name of a claim'],
    ['HMAC', { algorithms: ['HS256'] }, 'admin.jwt.algorithms[0]: unknown value'],
    ['keys for no algorithm', { algorithms: ['EdDSA'] }, `admin.jwt.algorithms: ${noKey}`],
  ])('is rejected with %s', (_, jwt, problem) => {
    expect(problemsOf(adminJwt(jwt))).toEqual([problem])
  })

  test('may have a hundred values, and no more', () => {
    const scopes = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`g${i}`, 'operate']))

    expect(problemsOf(adminJwt({ scopes: scopes(100) }))).toEqual([])
    expect(problemsOf(adminJwt({ scopes: scopes(101) }))).toEqual(['admin.jwt.scopes: too many entries'])
  })

  test('opens an address to other machines as any token does', () => {
    const admin = { host: '0.0.0.0', insecure: true, jwt: adminJwt() }

    expect(findProblems(`${sandbox}\nadmin: ${JSON.stringify(admin)}`)).toEqual([])
  })
})

describe('an audience of clients', () => {
  const keys = jwks(signingKey('ES256', 'of-clients'))
  const auth = (name: 'jwt' | 'introspection', settings: object) => ({
    auth: { methods: [name], [name]: settings },
    clients: [],
  })
  const introspection = { url: 'https://login.example/', clientId: 'a', clientSecret: 'b' }
  const shared = 'admin.jwt.audience: the admin listener would accept a client’s token'

  test.each<[string, object, readonly string[]]>([
    ['of the same issuer', auth('jwt', { issuer, jwks: keys, audience: [audience, adminAudience] }), [shared]],
    ['of another issuer', auth('jwt', { issuer: 'https://b.example', jwks: keys, audience: [adminAudience] }), []],
    ['that is another', auth('jwt', { issuer, jwks: keys, audience: [audience] }), []],
    ['that is asked about', auth('introspection', { ...introspection, issuer, audience: [adminAudience] }), [shared]],
    ['that is asked about, of any', auth('introspection', { ...introspection, audience: [adminAudience] }), [shared]],
    ['of an issuer who is asked about any', auth('introspection', { ...introspection, issuer }), []],
  ])('%s', (_, more, problems) => {
    expect(problemsOf(adminJwt(), more)).toEqual(problems)
  })
})
