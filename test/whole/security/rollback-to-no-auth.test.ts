import { hash } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { createAuditLog } from '../../features/audit/audit-log-place.ts'
import { hiddenFields, submitForm, visitPage } from '../../helpers/form-browser.ts'
import type { Settings } from '../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../helpers/live-gateway.ts'
import { eventually } from '../../helpers/wire.ts'

const bankA = { id: 'bank-a', operations: 'all', apiKeys: [{ id: 'a', sha256: hash('sha256', 'a'.repeat(43)) }] }
const authentication = { auth: { methods: ['apiKey'] }, clients: [bankA] }

/** Boots a gateway that lets everybody in, and applies an edit that asks clients for a key. */
const bootWithAuthSwitchedOn = async (settings: Settings = {}) => {
  const live = await bootLiveGateway(settings)
  live.edit({ ...settings, ...authentication })
  expect(await live.gateway.reload('request')).toMatchObject({ result: 'applied' })
  return live
}

const statusWithoutKey = async ({ url }: LiveGateway): Promise<number> => (await fetch(`${url}/market/insights`)).status
const rollback = ({ admin }: LiveGateway, query = '') => fetchAdmin(`${admin}/rollback${query}`, 'POST')

// The accident: authentication was switched on last week. An operator rolls back in a hurry, and every client that
// knows no key gets at the data of lenders.
test('a rollback that would switch authentication off is rejected, and says what and how to do it on purpose', async () => {
  const live = await bootWithAuthSwitchedOn()
  const { hash: before } = live.gateway.config

  const { status, body } = await rollback(live)
  for (const query of ['?force=0', '?force=false', '?Force', '?without-auth', '?force&force'])
    expect([query, await rollback(live, query)]).toMatchObject([query, { status: 400, body: { code: 'bad-request' } }])

  expect([status, live.gateway.config.hash, await statusWithoutKey(live)]).toEqual([409, before, 401])
  expect(body).toMatchObject({ code: 'switches-off', switchesOff: ['auth'] })
  expect(body.detail).toBe(
    'the rollback would switch off: auth; nothing has changed. To do so on purpose: lender-gateway rollback --force, or POST /rollback?force',
  )
})

test('by force it is done, and the log and the audit log say what is off', async () => {
  const log = createAuditLog(onTestFinished)
  const live = await bootWithAuthSwitchedOn({ audit: log.settings })

  const { status, body } = await rollback(live, '?force')

  expect([status, await statusWithoutKey(live)]).toEqual([200, 200])
  expect(body).toMatchObject({ result: 'applied', forced: true, switchedOff: ['auth'] })
  const told = { trigger: 'rollback', forced: true, switchedOff: ['auth'] }
  expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'configuration applied', ...told }))
  await eventually(() => log.lines().some(({ trigger }) => trigger === 'rollback'))
  expect(log.lines()).toContainEqual(expect.objectContaining({ event: 'reload', ...told, switchedOff: 'auth' }))
})

test('the page says in front of its button what it switches off, and the button says so too', async () => {
  const live = await bootWithAuthSwitchedOn()
  const action = `${live.admin}/actions/rollback`

  const page = await visitPage(action)
  const { force = '', ...others } = hiddenFields(page)
  const unforced = await submitForm(action, others)
  const still = await statusWithoutKey(live)
  const forced = await submitForm(action, { force, ...others })

  expect(page.text).toContain('<strong>This switches off: auth.</strong>')
  expect(page.text).toContain('<button type="submit">Roll back and switch off auth</button>')
  expect(unforced.text).toContain('would switch off: auth')
  expect([unforced.status, still, forced.status, await statusWithoutKey(live)]).toEqual([409, 401, 303, 200])
})

test('a rollback of the edit that took authentication out lets its clients in again, and no others', async () => {
  const live = await bootLiveGateway(authentication)
  const askWith = async (secret: string): Promise<number> =>
    (await fetch(`${live.url}/market/insights`, { headers: { 'X-Api-Key': `a.${secret}` } })).status
  live.edit({})
  await live.gateway.reload('request')
  const open = await statusWithoutKey(live)
  const page = await visitPage(`${live.admin}/actions/rollback`)

  const { status, body } = await rollback(live)
  const shown = await fetchAdmin(`${live.admin}/config`)

  expect([open, status, await statusWithoutKey(live)]).toEqual([200, 200, 401])
  expect([await askWith('a'.repeat(43)), await askWith('b'.repeat(43))]).toEqual([200, 401])
  expect(body).toMatchObject({ result: 'applied', forced: false, switchedOff: [] })
  expect(page.text).toContain('with admin and listen.tls as they are now, auth and clients as they were.')
  expect(JSON.stringify(shown.body)).toContain('bank-a')
})
