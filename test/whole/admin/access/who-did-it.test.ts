/** The name of an operator in the log, the audit log, /status, /overview and on the page. */
import { expect, onTestFinished, test } from 'vitest'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { adminTokens, bearerOf, tokenOf } from '../../../helpers/admin-tokens.ts'
import { hiddenFields, logIn, submitForm, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'

const market = { endpoints: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] }
const settings = { admin: { tokens: adminTokens }, upstreams: { market } }
const headers = bearerOf('operate')

test('each order has the name of its operator in its log line and in its audit line', async () => {
  const audit = createAuditLog(onTestFinished)
  const live = await bootLiveGateway({ ...settings, audit: audit.settings })
  const order = (path: string, body: object = {}) =>
    fetchAdmin(live.admin + path, 'POST', { headers, body: JSON.stringify(body) })

  await order('/operations/reject', { operation: 'inventory.sync' })
  await order('/endpoints/drain', { group: 'market', url: 'http://127.0.0.1:1' })
  await order('/contract/learn', { for: '1h' })
  await fetch(`${live.admin}/reload`, { method: 'POST', headers })
  await live.line(({ msg, url }) => msg === 'admin request' && url === '/reload')
  await live.gateway.close()

  const events = ['operation override', 'endpoint override', 'contract learning']
  const named = live.lines.filter(({ msg }) => events.includes(String(msg)))
  expect(named.map(({ msg, by }) => [msg, by])).toEqual(events.map((event) => [event, 'oncall-anna']))
  expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'configuration unchanged', by: 'oncall-anna' }))
  const lines = audit.lines().filter(({ event }) => event !== 'start' && event !== 'end')
  const recorded = [...events, 'reload', ...Array.from({ length: 4 }, () => 'admin request')].toSorted()
  expect(lines.map(({ event, by, operator }) => [event, by ?? operator]).toSorted()).toEqual(
    recorded.map((event) => [event, 'oncall-anna']),
  )
})

test('/status says who has ordered what holds, and when; the page says who did it last', async () => {
  const live = await bootLiveGateway(settings)
  const session = await logIn(live.admin, tokenOf.operate)
  const form = hiddenFields(await visitPage(`${live.admin}/actions/reject?operation=inventory.sync`, session))

  await submitForm(`${live.admin}/actions/reject`, form, session)
  await fetchAdmin(`${live.admin}/endpoints/drain`, 'POST', {
    headers,
    body: JSON.stringify({ group: 'market', url: 'http://127.0.0.1:1' }),
  })
  await fetch(`${live.admin}/reload`, { method: 'POST', headers })
  const { body } = await fetchAdmin(`${live.admin}/overview`, 'GET', { headers })
  const { commands } = body as object as {
    readonly commands: readonly { readonly by: string; readonly text: string }[]
  }
  const page = await visitPage(`${live.admin}/`, session)

  const ordered = { setBy: 'oncall-anna', setAt: expect.stringMatching(/Z$/) }
  expect(body).toMatchObject({
    status: {
      operations: { 'inventory.sync': { state: 'reject', ...ordered } },
      upstreams: { market: { endpoints: [ordered, { setBy: null, setAt: null }] } },
    },
    reloads: [{ trigger: 'request', by: 'oncall-anna', result: 'unchanged' }],
  })
  expect(commands.map(({ by, text }) => `${by}: ${text}`)).toEqual([
    expect.stringMatching(/^oncall-anna: Nothing has changed: /),
    expect.stringMatching(/^oncall-anna: http:\/\/127\.0\.0\.1:1 of market gets no new requests until /),
    expect.stringMatching(/^oncall-anna: inventory\.sync is rejected until /),
  ])
  expect(page.text).toMatch(/<b>oncall-anna<\/b>: inventory\.sync is rejected until /)
})
