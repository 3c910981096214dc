/** Sessions that an attacker has planted, and those of operators that have gone. */
import { expect, test } from 'vitest'
import { adminTokens, bearerOf, tokenEntry, tokenOf } from '../../../helpers/admin-tokens.ts'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, shareLiveGateway } from '../../../helpers/live-gateway.ts'

const locked = await shareLiveGateway({ admin: { token } })

// The attack: an attacker who can plant a cookie in an operator's browser (a program at another port of localhost can)
// plants the id of a session, waits until the operator has logged in, and uses it as well (session fixation).
test('a login never takes over an id that the browser came with', async () => {
  const { port } = new URL(locked.admin)
  const planted = { cookie: `__Host-lender-gateway-${port}=${'A'.repeat(43)}` }
  const page = await visitPage(`${locked.admin}/login`, planted)

  const response = await submitForm(`${locked.admin}/login`, { ...hiddenFields(page), token }, planted)

  expect(response.headers.get('set-cookie')).not.toContain('A'.repeat(43))
  expect((await visitPage(`${locked.admin}/status`, planted)).status).toBe(401)
})

test('a login in a session that the attacker has ends that one', async () => {
  const planted = await logIn(locked.admin)
  const form = hiddenFields(await visitPage(`${locked.admin}/actions/reload`, planted))

  const response = await submitForm(`${locked.admin}/login`, { ...form, token }, planted)

  const [own = ''] = (response.headers.get('set-cookie') ?? '').split(';')
  expect((await visitPage(`${locked.admin}/status`, planted)).status).toBe(401)
  expect((await visitPage(`${locked.admin}/status`, { cookie: own })).status).toBe(200)
})

// The attack: an operator has left, and the token is removed from the file, or its scope is lowered. The page that is
// still open in a browser goes on to read, or to give orders.
const others = adminTokens.filter(({ name }) => name !== 'oncall-anna')

/** Opens the stream of a page; `ended` resolves to its text when the gateway ends it. */
const openStream = async (admin: string, headers: Record<string, string>) => {
  const response = await fetch(`${admin}/events`, { headers })
  return { status: response.status, ended: response.text() }
}

test.each([
  ['is removed', others],
  ['has a lower scope', [...others, tokenEntry('oncall-anna', tokenOf.operate, 'read')]],
  ['is another operator’s', [...others, tokenEntry('oncall-bert', tokenOf.operate, 'operate')]],
])('when a token %s, its sessions, streams and forms end for good, and those of others go on', async (_, tokens) => {
  const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
  const session = await logIn(live.admin, tokenOf.operate)
  const reader = await logIn(live.admin, tokenOf.read)
  const form = hiddenFields(await visitPage(`${live.admin}/actions/refuse?operation=market.insights`, session))
  const [page, script] = [await openStream(live.admin, session), await openStream(live.admin, bearerOf('operate'))]
  const statusOf = async (headers: Record<string, string>) => (await visitPage(`${live.admin}/status`, headers)).status

  live.edit({ admin: { tokens } })
  await live.gateway.reload('signal')
  const text = await page.ended
  const sent = await submitForm(`${live.admin}/actions/refuse`, form, session)
  const during = [await statusOf(session), await statusOf(reader)]
  live.edit({ admin: { tokens: adminTokens } })
  await live.gateway.reload('signal')

  expect(text).toMatch(/event: end\ndata: session\n\n$/)
  if (tokens === others) expect(await script.ended).toMatch(/event: end\ndata: session\n\n$/)
  expect([page.status, script.status, sent.status]).toEqual([200, 200, 401])
  expect([during, await statusOf(session)]).toEqual([[401, 200], 401])
  expect(live.lines.filter(({ msg }) => msg === 'operation override')).toEqual([])
})

test('a token is replaced without an interruption: both are good while both stand in the file', async () => {
  const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
  const session = await logIn(live.admin, tokenOf.operate)
  const next = tokenEntry('oncall-anna', 'the-next-token-of-anna', 'operate')
  const statusesWith = async (tokens: typeof adminTokens): Promise<readonly number[]> => {
    live.edit({ admin: { tokens } })
    await live.gateway.reload('signal')
    const proofs = [session, bearerOf('operate'), { authorization: 'Bearer the-next-token-of-anna' }]
    return Promise.all(proofs.map(async (proof) => (await visitPage(`${live.admin}/status`, proof)).status))
  }

  expect(await statusesWith([...adminTokens, next])).toEqual([200, 200, 200])
  expect(await statusesWith([...others, next])).toEqual([401, 401, 200])
})
