import { expect, test } from 'vitest'
import { parse, sandbox } from '../../../core/config/helper.ts'
import { adminTokens } from '../../../helpers/admin-tokens.ts'
import { adminJwt } from '../../../helpers/operator-jwts.ts'

const warned = (admin: object, more = '') => {
  const result = parse(`${sandbox}\nadmin: ${JSON.stringify(admin)}\n${more}`)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings.map(({ path, message }) => `${path}: ${message}`)
}

const [scraper, reader] = adminTokens
const token = 'a-token-of-an-operator'

test('tokens for /metrics get a warning where nothing is counted', () => {
  const opensNothing = 'this token opens nothing: nothing is counted'

  expect(warned({ tokens: adminTokens }, 'metrics: none')).toEqual([`admin.tokens[0].scope: ${opensNothing}`])
  expect(warned({ token, metricsToken: `${token}2` }, 'metrics: none')).toEqual([`admin.metricsToken: ${opensNothing}`])
  expect(warned({ tokens: adminTokens })).toEqual([])
})

test('tokens of which none is for orders get one', () => {
  const message = 'admin.tokens: no operator may give an order: no token has the scope operate'

  expect(warned({ tokens: [scraper, reader] })).toEqual([message])
  expect(warned({ tokens: [scraper, reader], token })).toEqual([])
  expect(warned({ tokens: adminTokens })).toEqual([])
  expect(warned({})).toEqual([])
})

test('an issuer’s tokens are looked at in the same way', () => {
  const jwt = (scopes: object) => ({ jwt: adminJwt({ scopes }) })

  expect(warned(jwt({ oncall: 'operate', 'a group': 'metrics' }), 'metrics: none')).toEqual([
    'admin.jwt.scopes."a group": this token opens nothing: nothing is counted',
  ])
  expect(warned(jwt({ auditors: 'read' }))).toEqual([
    'admin.tokens: no operator may give an order: no token has the scope operate',
  ])
  expect(warned({ ...jwt({ auditors: 'read' }), tokens: adminTokens })).toEqual([])
  expect(warned({ ...jwt({ oncall: 'operate' }), tokens: [scraper, reader] })).toEqual([])
})
