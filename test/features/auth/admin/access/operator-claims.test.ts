import { describe, expect, test } from 'vitest'
import { describeRefusal, readOperator } from '../../../../../src/features/auth/operator-jwts.ts'

const config = {
  nameClaim: 'sub',
  scopeClaim: 'groups',
  scopes: { scrapers: 'metrics', readers: 'read', oncall: 'operate' },
} as const
const byScope = { ...config, scopeClaim: 'scope' } as const

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

  test.each([
    ['nothing', {}],
    ['another claim', { group: ['oncall'] }],
    ['no value that is named', { groups: ['others'] }],
    ['another case', { groups: ['Oncall', 'ONCALL'] }],
    ['a blank around it', { groups: [' oncall', 'oncall '] }],
    ['a text of several values', { groups: 'former oncall' }],
    ['a text with a comma', { groups: 'readers,oncall' }],
    ['a list in a list', { groups: [['oncall']] }],
    ['a map', { groups: { oncall: true } }],
    ['true', { groups: true }],
    ['a number', { groups: 1 }],
    ['null', { groups: null }],
    ['names that every object has', { groups: ['constructor', 'toString', '__proto__', 'hasOwnProperty'] }],
  ])('of %s is none', (_, claims) => {
    expect(read(claims)).toBe('no-scope')
  })

  test('stands between blanks in scope and scp, which may also be lists', () => {
    for (const scopeClaim of ['scope', 'scp'])
      for (const value of ['openid readers', ['openid', 'readers']])
        expect(read({ [scopeClaim]: value }, { ...config, scopeClaim })).toMatchObject({ scope: 'read' })
    expect(read({ scope: 'openid\treaders' }, byScope)).toBe('no-scope')
    expect(read({ scope: 'readers.all oncall-not' }, byScope)).toBe('no-scope')
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

  test.each([
    ['missing', undefined],
    ['empty', ''],
    ['a number', 7],
    ['a list', ['anna']],
    ['too long', 'x'.repeat(129)],
    ['one with a line feed', 'anna\n{"msg":"login"}'],
    ['one with a control character', 'anna\u001b[2J'],
    ['one with a letter that looks like another', 'аnna'],
    ['one with a blank before it', ' anna'],
    ['an address', '10.0.0.7'],
    ['another address', '::1'],
    ['that of another token', 'admin.token'],
    ['that of the other token', 'admin.metricsToken'],
  ])('is none when it is %s', (_, sub) => {
    expect(read({ sub, groups })).toBe('no-name')
  })
})

test('a token that is bound is of no operator', () => {
  for (const cnf of [{ jkt: 'a' }, { 'x5t#S256': 'a' }, {}, null])
    expect(read({ groups: 'oncall', cnf })).toBe('bound-token')
})

test.each([
  ['no-scope', {}, 'it has no claim groups (admin.jwt.scopeClaim) at its top level'],
  ['no-scope', { groups: ['s3cret'] }, 'no value of its claim groups stands under admin.jwt.scopes'],
  ['no-name', { groups: 'oncall' }, 'it has no claim sub (admin.jwt.nameClaim) at its top level'],
  [
    'no-name',
    { groups: 'oncall', sub: '10.0.0.7' },
    'its claim sub (admin.jwt.nameClaim) is no name: a text of 1 to 128 visible ASCII characters, and no address',
  ],
] as const)('%s of %j is described by the names of claims alone', (refusal, claims, text) => {
  expect(describeRefusal(refusal, claims, config)).toBe(text)
})
