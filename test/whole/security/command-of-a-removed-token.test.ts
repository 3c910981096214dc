import { expect, test, vi } from 'vitest'
import { openAdminListener } from '../../helpers/admin-listener.ts'
import { adminTokens, bearerOf, tokenEntry, tokenOf } from '../../helpers/admin-tokens.ts'
import { hiddenFields, logIn, visitPage } from '../../helpers/form-browser.ts'
import { fetchAdmin } from '../../helpers/live-gateway.ts'
import { adminJwt, groupOf, operatorJwt } from '../../helpers/operator-jwts.ts'
import { isWholeResponse, parseStatus, rawClient } from '../../helpers/raw-client.ts'

// The attack: an operator who is about to leave begins an order, and holds its body back. The head was let in; when the
// token is gone, the body follows.
const others = adminTokens.filter(({ name }) => name !== 'oncall-anna')
const lowered = [...others, tokenEntry('oncall-anna', tokenOf.operate, 'read')]

type Listener = Awaited<ReturnType<typeof openAdminListener>>

/** Sends the head of a request, then reloads with other tokens, and then sends the body; returns the status. */
const sendAcrossReload = async (
  { port, edit, reloader }: Listener,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  admin: object,
): Promise<number> => {
  const client = await rawClient(port)
  const fields = { host: `localhost:${port}`, 'content-length': `${body.length}`, expect: '100-continue', ...headers }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  client.send(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  await client.until((text) => text.startsWith('HTTP/1.1 100 '))
  edit({ admin: { ...admin } })
  await reloader.reload('signal')
  client.send(body)
  const text = await client.until(isWholeResponse)
  client.close()
  return parseStatus(text.slice(text.indexOf('HTTP/1.1', 1)))
}

const order = JSON.stringify({ operation: 'inventory.sync' })

const orders = ({ lines }: Listener) => lines.filter(({ msg }) => msg === 'operation override').length

const issued = { jwt: adminJwt({ scopes: { [groupOf.operate]: 'read' } }), tokens: adminTokens }

test.each<[string, object, boolean, number]>([
  ['is removed', { tokens: others }, false, 401],
  ['may only read', { tokens: lowered }, false, 403],
  ['goes on', { tokens: adminTokens }, false, 200],
  ['is an issuer’s and may only read', issued, true, 403],
])('an order by a token that %s before its body has come', async (_, admin, isJwt, expected) => {
  const listener = await openAdminListener({ admin: { tokens: adminTokens, jwt: adminJwt() } })
  const headers = isJwt ? { authorization: `Bearer ${operatorJwt()}` } : bearerOf('operate')

  const status = await sendAcrossReload(listener, '/operations/reject', headers, order, admin)

  expect([status, orders(listener)]).toEqual([expected, expected === 200 ? 1 : 0])
})

test('a form of a session that ends before its body has come', async () => {
  const listener = await openAdminListener({ admin: { tokens: adminTokens } })
  const session = await logIn(listener.url, tokenOf.operate)
  const page = await visitPage(`${listener.url}/actions/reject?operation=inventory.sync`, session)
  const form = `${new URLSearchParams(hiddenFields(page))}`

  const status = await sendAcrossReload(listener, '/actions/reject', session, form, { tokens: others })

  expect([status, orders(listener)]).toEqual([401, 0])
})

// The same while the edit that takes the token away is tried: the order waits for its turn, which comes after the edit.
test.each([
  ['reload', '/reload', 'is removed', others, 401, 7],
  ['reload', '/reload', 'goes on', adminTokens, 200, 8],
  ['rollback', '/rollback?force', 'is removed', others, 401, 7],
  ['rollback', '/rollback?force', 'goes on', adminTokens, 200, 10_000],
] as const)(
  'a %s (POST %s) by a token that %s by the edit before it',
  async (name, path, _, tokens, expected, runs) => {
    const released = Promise.withResolvers<void>()
    const listener = await openAdminListener({ admin: { tokens: adminTokens } }, { preflight: () => released.promise })
    const { reloader, edit, url } = listener
    edit({ admin: { tokens }, limits: { concurrency: 7 } })
    const edited = reloader.reload('signal')
    const ordering = vi.spyOn(reloader, name)
    const ordered = fetchAdmin(url + path, 'POST', { headers: bearerOf('operate') })
    await expect.poll(() => ordering.mock.calls.length).toBe(1)
    edit({ admin: { tokens }, limits: { concurrency: 8 } }) // what a reload would read by now

    released.resolve()
    const { result } = await edited

    expect([result, (await ordered).status]).toEqual(['applied', expected])
    expect(reloader.config.limits).toMatchObject({ concurrency: runs })
  },
)
