/** What happens to tokens of the issuer while its keys are on their way. */
import { expect, onTestFinished, test } from 'vitest'
import { TokenRefusals } from '../../../../../src/core/admin/access/operator-tokens.ts'
import { createOperatorJwts } from '../../../../../src/features/auth/operator-jwts.ts'
import { logInMemory, testConfig } from '../../../../helpers/gateway.ts'
import { adminJwt, operatorJwt, operatorKey } from '../../../../helpers/operator-jwts.ts'
import { jwks } from '../../../../helpers/tokens.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'

/** Opens the verifier of an issuer whose keys come when the test says so. */
const openHeld = async () => {
  const release = Promise.withResolvers<void>()
  const server = await httpUpstream(async (_, response) => {
    await release.promise
    response.end(jwks(operatorKey))
  })
  const { log, lines } = logInMemory()
  const jwts = createOperatorJwts(log, new TokenRefusals(log))
  onTestFinished(() => jwts.close())
  const configure = (jwt: object): void =>
    jwts.applyConfig(testConfig({ admin: { jwt: adminJwt({ jwks: `${server.url}/jwks`, ...jwt }) } }).admin)
  configure({})
  return { jwts, configure, lines, release: release.resolve }
}

const address = '10.0.0.1'
const good = { operator: { name: 'anna@lender.example', scope: 'operate', proof: 'jwt' } }

test('one token that comes a hundred times at once is verified once, and counts as one', async () => {
  const { jwts, release } = await openHeld()
  const token = operatorJwt()

  const all = Array.from({ length: 100 }, () => jwts.verify(token, address))
  release()

  expect(new Set(await Promise.all(all)).size).toBe(1)
  expect(await all[0]).toMatchObject(good)
})

test('a wrong one that does leaves one line', async () => {
  const { jwts, lines, release } = await openHeld()
  const token = operatorJwt({ iss: 'https://evil.example' })

  const all = Array.from({ length: 100 }, () => jwts.verify(token, address))
  release()

  expect(new Set(await Promise.all(all))).toEqual(new Set([null]))
  expect(lines.filter(({ msg }) => msg === 'operator token refused')).toHaveLength(1)
})

test.each<[string, object, object | null]>([
  ['takes another issuer', { issuer: 'https://next.example' }, null],
  ['opens less', { scopes: { '/ops/gateway-oncall': 'read' } }, { operator: { ...good.operator, scope: 'read' } }],
  ['is the same', {}, good],
])(
  'a token is judged by the configuration that runs when it was verified: one that %s',
  async (_, change, expected) => {
    const { jwts, configure, release } = await openHeld()

    const verifying = jwts.verify(operatorJwt(), address)
    configure(change)
    release()
    const found = await verifying

    if (expected === null) expect(found).toBeNull()
    else expect(found).toMatchObject(expected)
  },
)

test('where there is no issuer any more, no token is good', async () => {
  const { jwts, release } = await openHeld()

  const verifying = jwts.verify(operatorJwt(), address)
  jwts.applyConfig(testConfig({}).admin)
  release()

  expect(await verifying).toBeNull()
  expect([jwts.state(), await jwts.verify(operatorJwt(), address)]).toEqual([null, null])
})

test('while the keys cannot be had, tokens that may be right do not count as wrong', async () => {
  const server = await httpUpstream((_, response) => response.writeHead(503).end())
  const { log } = logInMemory()
  const jwts = createOperatorJwts(log, new TokenRefusals(log))
  onTestFinished(() => jwts.close())
  jwts.applyConfig(testConfig({ admin: { jwt: adminJwt({ jwks: `${server.url}/jwks` }) } }).admin)

  const statuses = new Set<unknown>()
  for (let n = 0; n < 30; n++) {
    const shown = await jwts.verify(operatorJwt(), address)
    statuses.add(shown !== null && 'status' in shown ? shown.status : shown)
  }

  expect([...statuses]).toEqual([503])
})
