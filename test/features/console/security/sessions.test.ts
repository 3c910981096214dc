import { expect, test } from 'vitest'
import { adminTokens, tokenEntry, tokenOf } from '../../../helpers/admin-tokens.ts'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, shareLiveGateway } from '../../../helpers/live-gateway.ts'

const locked = await shareLiveGateway({ admin: { token } })

// The attack (session fixation): an attacker plants a session id in an operator's browser, as a program at another port
// of localhost can, and uses it after the login.
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

// The attack: an operator's token is removed, or its scope lowered. An open page reads on, or sends commands.
const fates = ['removed', 'lowered', 'renamed']
const secretOf = (fate: string): string => `a-token-that-will-be-${fate}`
const before = [...adminTokens, ...fates.map((fate) => tokenEntry(`of-${fate}`, secretOf(fate), 'operate'))]
const after = [
  ...adminTokens,
  tokenEntry('of-lowered', secretOf('lowered'), 'read'),
  tokenEntry('of-another', secretOf('renamed'), 'operate'),
]
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })

const openStream = async (admin: string, headers: Record<string, string>) => {
  const response = await fetch(`${admin}/events`, { headers })
  return { status: response.status, ended: response.text() }
}

const bootWith = async (tokens: typeof adminTokens) => {
  const live = await bootLiveGateway({ admin: { tokens } })
  const statusOf = async (headers: Record<string, string>) => (await visitPage(`${live.admin}/status`, headers)).status
  const reload = async (next: typeof adminTokens): Promise<void> => {
    live.edit({ admin: { tokens: next } })
    await live.gateway.reload('signal')
  }
  return { live, admin: live.admin, statusOf, reload }
}

test('when a token is removed, has a lower scope or is another operator’s, its sessions, streams and forms end for good, and those of others go on', async () => {
  const { live, admin, statusOf, reload } = await bootWith(before)
  const reader = await logIn(admin, tokenOf.read)
  const page = `${admin}/actions/reject?operation=market.insights`
  const held = await Promise.all(
    fates.map(async (fate) => {
      const session = await logIn(admin, secretOf(fate))
      const form = hiddenFields(await visitPage(page, session))
      return { fate, session, form, stream: await openStream(admin, session) }
    }),
  )
  const script = await openStream(admin, bearer(secretOf('removed')))

  await reload(after)
  const texts = await Promise.all([script, ...held.map(({ stream }) => stream)].map(({ ended }) => ended))
  const during = await Promise.all(
    held.map(async ({ fate, session, form }) => {
      const sent = await submitForm(`${admin}/actions/reject`, form, session)
      return [fate, sent.status, await statusOf(session)]
    }),
  )
  const others = await statusOf(reader)
  await reload(before)

  const ended = expect.stringMatching(/event: end\ndata: session\n\n$/)
  expect([script, ...held.map(({ stream }) => stream)].map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect(texts).toEqual([ended, ended, ended, ended])
  expect([...during, others]).toEqual([...fates.map((fate) => [fate, 401, 401]), 200])
  expect(await Promise.all(held.map(({ session }) => statusOf(session)))).toEqual([401, 401, 401])
  expect(live.lines.filter(({ msg }) => msg === 'operation override')).toEqual([])
})

test('a token is replaced without an interruption: both are good while both stand in the file', async () => {
  const { admin, statusOf, reload } = await bootWith(adminTokens)
  const session = await logIn(admin, tokenOf.operate)
  const next = tokenEntry('oncall-anna', 'the-next-token-of-anna', 'operate')
  const proofs = [session, bearer(tokenOf.operate), bearer('the-next-token-of-anna')]
  const statuses: number[][] = []

  for (const tokens of [adminTokens, adminTokens.slice(0, 2)]) {
    await reload([...tokens, next])
    statuses.push(await Promise.all(proofs.map(statusOf)))
  }

  expect(statuses).toEqual([
    [200, 200, 200],
    [401, 401, 200],
  ])
})
