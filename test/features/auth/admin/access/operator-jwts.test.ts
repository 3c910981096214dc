import { hash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { TokenRejections } from '../../../../../src/core/admin/access/operator-tokens.ts'
import { createOperatorJwts, describeRejection, readOperator } from '../../../../../src/features/auth/operator-jwts.ts'
import { logInMemory, testConfig } from '../../../../helpers/gateway.ts'
import { adminAudience, adminJwt, groupOf, operatorJwt, operatorKey } from '../../../../helpers/operator-jwts.ts'
import { audience, claims, jwks, signingKey, signToken } from '../../../../helpers/tokens.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'

describe('of the claims of a token', () => {
  const config = {
    nameClaim: 'sub',
    scopeClaim: 'groups',
    scopes: { scrapers: 'metrics', readers: 'read', oncall: 'operate' },
  } as const

  const read = (claims: object, by: Parameters<typeof readOperator>[1] = config) =>
    readOperator({ sub: 'anna', ...claims }, by)

  describe('the scope', () => {
    test.each([
      [['oncall'], 'operate'],
      ['oncall', 'operate'],
      [['others', 'readers', 'scrapers'], 'read'],
      [['readers', 'oncall', 'scrapers'], 'operate'],
      [[7, null, ['oncall'], 'scrapers'], 'metrics'],
    ])('of %j is %s', (groups, scope) => {
      expect(read({ groups })).toEqual({ name: 'anna', scope, proof: 'jwt' })
    })

    test.each<object>([
      ...[{}, { group: ['oncall'] }, { groups: ['others'] }, { groups: ['Oncall', 'ONCALL'] }],
      ...[{ groups: [' oncall', 'oncall '] }, { groups: 'former oncall' }, { groups: 'readers,oncall' }],
      ...[{ groups: [['oncall']] }, { groups: { oncall: true } }, { groups: true }, { groups: 1 }, { groups: null }],
      { groups: ['constructor', 'toString', '__proto__', 'hasOwnProperty'] },
    ])('of %j is none', (claims) => {
      expect(read(claims)).toBe('no-scope')
    })

    test('stands between blanks in scope and scp, which may also be lists', () => {
      for (const scopeClaim of ['scope', 'scp'])
        for (const value of ['openid readers', ['openid', 'readers']])
          expect(read({ [scopeClaim]: value }, { ...config, scopeClaim })).toMatchObject({ scope: 'read' })
      for (const scope of ['openid\treaders', 'readers.all oncall-not'])
        expect(read({ scope }, { ...config, scopeClaim: 'scope' })).toBe('no-scope')
    })

    test('of a list with thousands of values is found in a moment', () => {
      const groups = Array.from({ length: 4000 }, (_, i) => `${i}`)

      expect(read({ groups: [...groups, 'readers'] })).toMatchObject({ scope: 'read' })
    })
  })

  describe('the name', () => {
    const groups = 'oncall'

    test.each(['anna', 'anna@lender.example', 'Anna Smith', 'auth0|5f7c', 'a', '<b>"anna"</b>', 'x'.repeat(128)])(
      'may be %s',
      (sub) => {
        expect(read({ sub, groups })).toMatchObject({ name: sub })
      },
    )

    // The fourth to last has a letter that looks like another.
    test.each([
      ...[undefined, '', 7, ['anna'], 'x'.repeat(129), 'anna\n{"msg":"login"}', 'anna\u001b[2J', ' anna', '10.0.0.7'],
      ...['\u0430nna', '::1', 'admin.token', 'admin.metricsToken'],
    ])('is none when it is %j', (sub) => {
      expect(read({ sub, groups })).toBe('no-name')
    })
  })

  test('a token that is bound is of no operator', () => {
    for (const cnf of [{ jkt: 'a' }, { 'x5t#S256': 'a' }, {}, null])
      expect(read({ groups: 'oncall', cnf })).toBe('bound-token')
  })

  const flaw = 'a text of 1 to 128 visible ASCII characters, and no address'
  test.each([
    ['no-scope', {}, 'it has no claim groups (admin.jwt.scopeClaim) at its top level'],
    ['no-scope', { groups: ['s3cret'] }, 'no value of its claim groups is in admin.jwt.scopes'],
    ['no-name', { groups: 'oncall' }, 'it has no claim sub (admin.jwt.nameClaim) at its top level'],
    ['no-name', { sub: '10.0.0.7' }, `its claim sub (admin.jwt.nameClaim) is no name: ${flaw}`],
  ] as const)('%s of %j is described by the names of claims alone', (rejection, claims, text) => {
    expect(describeRejection(rejection, claims, config)).toBe(text)
  })
})

const other = signingKey('ES256', 'another')
const address = '10.0.0.1'
const good = { name: 'anna@lender.example', scope: 'operate', proof: 'jwt' }

const openOperatorJwts = (jwt: object = {}) => {
  const { log, lines } = logInMemory()
  const jwts = createOperatorJwts(log, new TokenRejections(log))
  onTestFinished(() => jwts.close())
  const configure = (more: object | null): void =>
    jwts.applyConfig(testConfig(more === null ? {} : { admin: { jwt: adminJwt({ ...jwt, ...more }) } }).admin)
  configure({})
  const rejections = () => lines.filter(({ msg }) => msg === 'operator token rejected')
  return { jwts, configure, rejections, verify: (token: string) => jwts.verify(token, address) }
}

const statusOf = (shown: unknown): unknown =>
  typeof shown === 'object' && shown !== null && 'status' in shown ? shown.status : shown

// Which tokens of an issuer are wrong in themselves is `security/forged-tokens.test.ts`'s.
describe('a token is rejected, and the log says why:', () => {
  const now = Math.floor(Date.now() / 1000)

  test.each<[string, string, string]>([
    ['a client’s, by the same key', signToken(operatorKey, claims({ groups: [groupOf.operate] })), 'wrong-audience'],
    ['for another audience', operatorJwt({ aud: audience }), 'wrong-audience'],
    ['for a longer audience', operatorJwt({ aud: `${adminAudience}/more` }), 'wrong-audience'],
    ['of another issuer', operatorJwt({ iss: 'https://evil.example' }), 'wrong-issuer'],
    ['expired', operatorJwt({ exp: now - 60 }), 'expired'],
    ['without an end', operatorJwt({ exp: undefined }), 'other-token-flaw'],
    ['not good yet', operatorJwt({ nbf: now + 60 }), 'not-yet-valid'],
    ['of a key that is not known', operatorJwt({}, other), 'unknown-kid'],
    ['signed with another key by that name', operatorJwt({}, { ...other, kid: operatorKey.kid }), 'bad-signature'],
    ['an ID token', operatorJwt({}, operatorKey, { typ: 'JWT' }), 'token-type'],
    ['bound to a key', operatorJwt({ cnf: { jkt: 'x' } }), 'bound-token'],
    ['of no group that opens anything', operatorJwt({ groups: ['others'] }), 'no-scope'],
    ['without a name', operatorJwt({ email: undefined }), 'no-name'],
  ])('%s', async (_, token, reason) => {
    const { verify, rejections } = openOperatorJwts()

    expect(await verify(token)).toBeNull()
    expect(rejections()).toMatchObject([{ client: address, reason, cause: expect.any(String) }])
    expect(await verify(operatorJwt())).toMatchObject({ operator: good })
  })

  test('each time, not the first time alone; one that is no token at all is not looked at', async () => {
    const { verify, rejections } = openOperatorJwts()
    const [stranger, parts] = [operatorJwt({ groups: ['others'] }), operatorJwt().split('.').slice(0, 2).join('.')]
    const tooLong = operatorJwt({ groups: Array.from({ length: 900 }, (_, i) => `group-${i}`) })

    for (const token of [stranger, parts, stranger, `${parts}.`, tooLong]) expect(await verify(token)).toBeNull()

    expect(rejections().map(({ reason }) => reason)).toEqual(['no-scope', 'no-scope'])
  })
})

describe('attempts', () => {
  // The clock stands still.
  beforeEach(() => void vi.spyOn(performance, 'now').mockReturnValue(performance.now()))
  afterEach(() => void vi.restoreAllMocks())

  test('are bounded where they are wrong, and a token that is known is known on', async () => {
    const { jwts, verify, rejections } = openOperatorJwts()
    const known = operatorJwt()
    await verify(known)
    const guess = (n: number) => operatorJwt({ n }, { ...other, kid: operatorKey.kid })

    const guesses = await Promise.all(Array.from({ length: 40 }, (_, n) => verify(guess(n))))

    expect(guesses.map(statusOf)).toEqual([...new Array(20).fill(null), ...new Array(20).fill(429)])
    expect(rejections()).toHaveLength(20)
    expect(await verify(operatorJwt({ jti: 'fresh' }))).toMatchObject({
      ...{ status: 429, code: 'too-many-attempts', headers: { 'Retry-After': '1' } },
    })
    expect(jwts.recall(hash('sha256', known, 'buffer'))).toEqual(good)
  })

  test('do not count where they are right, however many, nor while the keys cannot be fetched', async () => {
    const server = await httpUpstream((_, response) => response.writeHead(503).end())
    const [right, unknown] = [openOperatorJwts(), openOperatorJwts({ jwks: `${server.url}/jwks` })]

    for (let n = 0; n < 30; n++) {
      expect(await right.verify(operatorJwt({ jti: `${n}` }))).toMatchObject({ operator: good })
      expect(statusOf(await unknown.verify(operatorJwt()))).toBe(503)
    }
  })
})

test.each<[string, object | null, object | null]>([
  ['another issuer', { issuer: 'https://next.example' }, null],
  ['another audience', { audience: ['https://gateway.example/next'] }, null],
  ['other keys', { jwks: jwks(other) }, null],
  ['another scope for its group', { scopes: { [groupOf.operate]: 'read' } }, { ...good, scope: 'read' }],
  ['nothing for its group', { scopes: { x: 'operate' } }, null],
  ['another name for it', { nameClaim: 'sub' }, { ...good, name: 'robot' }],
  ['no issuer', null, null],
  ['nothing else', {}, good],
])('a reload that brings %s: a token that was verified is recalled as it is then', async (_, change, expected) => {
  const { jwts, configure, verify } = openOperatorJwts()
  const token = operatorJwt()
  await verify(token)

  configure(change)

  expect(jwts.recall(hash('sha256', token, 'buffer'))).toEqual(expected)
})

describe('while the keys of the issuer are on their way', () => {
  /** Opens the verifier of an issuer whose keys come when the test says so. */
  const openHeld = async () => {
    const release = Promise.withResolvers<void>()
    const server = await httpUpstream(async (_, response) => {
      await release.promise
      response.end(jwks(operatorKey))
    })
    return { ...openOperatorJwts({ jwks: `${server.url}/jwks` }), release: release.resolve }
  }

  test.each<[string, string, number]>([
    ['one token that comes many times at once is verified once, and counts as one', operatorJwt(), 0],
    ['a wrong one that does leaves one line', operatorJwt({ iss: 'https://evil.example' }), 1],
  ])('%s', async (_, token, rejected) => {
    const { verify, rejections, release } = await openHeld()

    const all = Array.from({ length: 50 }, () => verify(token))
    release()

    expect(new Set(await Promise.all(all)).size).toBe(1)
    expect(await all[0]).toEqual(rejected === 0 ? expect.objectContaining({ operator: good }) : null)
    expect(rejections()).toHaveLength(rejected)
  })

  test.each<[string, object | null, object | null]>([
    ['takes another issuer', { issuer: 'https://next.example' }, null],
    ['opens less', { scopes: { '/ops/gateway-oncall': 'read' } }, { operator: { ...good, scope: 'read' } }],
    ['is the same', {}, { operator: good }],
    ['has no issuer', null, null],
  ])('a token is judged by the configuration that runs when it was verified: one that %s', async (...row) => {
    const [, change, expected] = row
    const { jwts, configure, verify, release } = await openHeld()

    const verifying = verify(operatorJwt())
    configure(change)
    release()

    expect(await verifying).toEqual(expected && expect.objectContaining(expected))
    expect(jwts.state() === null).toBe(change === null)
  })
})
