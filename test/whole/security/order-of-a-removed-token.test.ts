import { expect, test } from 'vitest'
import { adminTokens, bearerOf, tokenEntry, tokenOf } from '../../helpers/admin-tokens.ts'
import { hiddenFields, logIn, visitPage } from '../../helpers/form-browser.ts'
import type { Settings } from '../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../helpers/live-gateway.ts'
import { adminJwt, groupOf, operatorJwt } from '../../helpers/operator-jwts.ts'
import { isWholeResponse, parseStatus, rawClient } from '../../helpers/raw-client.ts'
import { audience, issuer as issuerName, jwks, signingKey } from '../../helpers/tokens.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

// The attack: an operator who is about to leave begins an order, and holds its body back. The head was let in; when the
// token is gone, the body follows.
const others = adminTokens.filter(({ name }) => name !== 'oncall-anna')
const lowered = [...others, tokenEntry('oncall-anna', tokenOf.operate, 'read')]

/** Sends the head of a request, then reloads with other tokens, and then sends the body; returns the status. */
const sendAcrossReload = async (
  live: LiveGateway,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  admin: NonNullable<Settings['admin']>,
): Promise<number> => {
  const { port } = live.gateway.adminAddress
  const client = await rawClient(port)
  const fields = { host: `localhost:${port}`, 'content-length': `${body.length}`, expect: '100-continue', ...headers }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  client.send(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  await client.until((text) => text.startsWith('HTTP/1.1 100 '))
  live.edit({ admin })
  await live.gateway.reload('signal')
  client.send(body)
  const text = await client.until(isWholeResponse)
  client.close()
  return parseStatus(text.slice(text.indexOf('HTTP/1.1', 1)))
}

const order = JSON.stringify({ operation: 'inventory.sync' })

const orders = ({ lines }: LiveGateway) => lines.filter(({ msg }) => msg === 'operation override').length

test.each<[string, Record<string, unknown>, string | null, number]>([
  ['is removed', { tokens: others }, null, 401],
  ['may only read', { tokens: lowered }, null, 403],
  ['goes on', { tokens: adminTokens }, null, 200],
  [
    'is an issuer’s and may only read',
    { tokens: adminTokens, jwt: adminJwt({ scopes: { [groupOf.operate]: 'read' } }) },
    ...([operatorJwt(), 403] as const),
  ],
])('an order by a token that %s before its body has come', async (_, admin, jwt, expected) => {
  const live = await bootLiveGateway({ admin: { tokens: adminTokens, jwt: adminJwt() } })
  const headers = jwt === null ? bearerOf('operate') : { authorization: `Bearer ${jwt}` }

  const status = await sendAcrossReload(live, '/operations/refuse', headers, order, admin)

  expect([status, orders(live)]).toEqual([expected, expected === 200 ? 1 : 0])
})

test('a form of a session that ends before its body has come', async () => {
  const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
  const admin = `http://localhost:${live.gateway.adminAddress.port}`
  const session = await logIn(admin, tokenOf.operate)
  const page = await visitPage(`${admin}/actions/refuse?operation=inventory.sync`, session)
  const form = `${new URLSearchParams(hiddenFields(page))}`

  const status = await sendAcrossReload(live, '/actions/refuse', session, form, { tokens: others })

  expect([status, orders(live)]).toEqual([401, 0])
})

// The same while the edit that takes the token away is tried: the order waits for its turn, which comes after the edit.
test.each([
  ['/reload', 'is removed', others, 401],
  ['/rollback?force', 'is removed', others, 401],
  ['/rollback?force', 'goes on', adminTokens, 200],
])('POST %s by a token that %s by the edit before it', async (path, _, tokens, expected) => {
  const asked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const issuer = await httpUpstream(async (_, response) => {
    asked.resolve()
    await released.promise
    response.end(jwks(signingKey('ES256', 'one')))
  })
  const reload = { watch: false, preflight: 'connect' }
  const live = await bootLiveGateway({ admin: { tokens: adminTokens }, reload })
  live.edit({
    admin: { tokens },
    auth: { methods: ['jwt'], jwt: { issuer: issuerName, audience: [audience], jwks: issuer.url } },
    clients: [{ id: 'bank-a', operations: 'all', claims: { client_id: 'bank-a' } }],
  })
  const edited = live.gateway.reload('signal')
  await asked.promise
  const ordered = fetchAdmin(live.admin + path, 'POST', { headers: bearerOf('operate') })
  await fetchAdmin(`${live.admin}/live`) // which is served after the order was read

  released.resolve()
  await edited

  expect((await ordered).status).toBe(expected)
  expect(live.lines.filter(({ trigger }) => trigger !== undefined && trigger !== 'signal')).toHaveLength(
    expected === 200 ? 1 : 0,
  )
})
