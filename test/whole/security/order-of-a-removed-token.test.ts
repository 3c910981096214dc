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

test.each([
  ['is removed', others, 401],
  ['may only read', lowered, 403],
  ['goes on', adminTokens, 200],
])('an order by a token that %s before its body has come', async (_, tokens, expected) => {
  const live = await bootLiveGateway({ admin: { tokens: adminTokens } })

  const status = await sendAcrossReload(live, '/operations/refuse', bearerOf('operate'), order, { tokens })

  expect(status).toBe(expected)
  expect(live.lines.filter(({ msg }) => msg === 'operation override')).toHaveLength(expected === 200 ? 1 : 0)
})

test.each([['lets its group read only', 'read', 403]])(
  'an order by a token of an issuer that %s before its body has come',
  async (_, scope, expected) => {
    const live = await bootLiveGateway({ admin: { tokens: adminTokens, jwt: adminJwt() } })
    const headers = { authorization: `Bearer ${operatorJwt()}` }
    const jwt = scope === null ? {} : { jwt: adminJwt({ scopes: { [groupOf.operate]: scope } }) }

    const status = await sendAcrossReload(live, '/operations/refuse', headers, order, { tokens: adminTokens, ...jwt })

    expect(status).toBe(expected)
    expect(live.lines.filter(({ msg }) => msg === 'operation override')).toHaveLength(expected === 200 ? 1 : 0)
  },
)

test.each([['ends', others, 401]])(
  'a form of a session that %s before its body has come',
  async (_, tokens, expected) => {
    const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
    const { port } = live.gateway.adminAddress
    const admin = `http://localhost:${port}`
    const session = await logIn(admin, tokenOf.operate)
    const page = await visitPage(`${admin}/actions/refuse?operation=inventory.sync`, session)
    const form = `${new URLSearchParams(hiddenFields(page))}`

    const status = await sendAcrossReload(live, '/actions/refuse', session, form, { tokens })

    expect(status).toBe(expected)
    expect(live.lines.filter(({ msg }) => msg === 'operation override')).toHaveLength(expected === 303 ? 1 : 0)
  },
)

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
