/** Tokens of operators across what else happens to a configuration: rejected edits, rollbacks, workers. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { runCommand } from '../../../core/cli/scripted-admin.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { adminTokens, bearerOf, tokenOf } from '../../../helpers/admin-tokens.ts'
import { logIn, visitPage } from '../../../helpers/form-browser.ts'
import { configText } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { adminJwt, operatorJwt } from '../../../helpers/operator-jwts.ts'
import { serve } from '../../../helpers/serve-process.ts'
import { drill, test } from '../../../helpers/speed.ts'

const [scraper, reader, anna] = adminTokens
const withoutAnna = [scraper, reader]

const statusWith = async (admin: string, headers: Record<string, string>): Promise<number> =>
  (await visitPage(`${admin}/status`, { accept: '*/*', ...headers })).status

test('a rejected edit takes no token away and brings none', async () => {
  const live = await bootLiveGateway({ admin: { tokens: [scraper, anna] } })
  const session = await logIn(live.admin, tokenOf.operate)

  live.edit({ admin: { tokens: [reader], hosts: ['not a host'] } })
  const { status } = await fetchAdmin(`${live.admin}/reload`, 'POST', { headers: bearerOf('operate') })

  const proofs = [bearerOf('operate'), session, bearerOf('read')]
  const statuses = await Promise.all(proofs.map((proof) => statusWith(live.admin, proof)))
  expect([status, ...statuses]).toEqual([422, 200, 200, 401])
})

test('a rollback brings back no token that was removed, nor the listener without any, by force either', async () => {
  const listen = { maxTarget: '1KiB' }
  const live = await bootLiveGateway({ listen })
  const open = await statusWith(live.admin, {})
  live.edit({ admin: { tokens: adminTokens } })
  await live.gateway.reload('signal')
  live.edit({ admin: { tokens: [reader, { ...anna, name: 'anna' }] }, listen })
  await live.gateway.reload('signal')

  const back = await fetchAdmin(`${live.admin}/rollback?force`, 'POST', { headers: bearerOf('operate') })

  expect(open).toBe(200)
  expect([back.status, back.body.changes]).toEqual([200, [expect.objectContaining({ path: 'listen.maxTarget' })]])
  expect(await statusWith(live.admin, {})).toBe(401)
  expect(await statusWith(live.admin, bearerOf('metrics'))).toBe(401)
  expect((await fetchAdmin(`${live.admin}/whoami`, 'GET', { headers: bearerOf('operate') })).body.name).toBe('anna')
})

drill('with two workers and from the command line, a token does what its scope says until it is removed', async () => {
  const file = join(folderWith({}), 'gateway.yaml')
  const write = (tokens: object): void =>
    writeFileSync(file, configText({ workers: 2, admin: { tokens, jwt: adminJwt() }, reload: { watch: false } }))
  write(adminTokens)
  const gateway = serve(file)
  const { port } = await gateway.line(({ msg }) => msg === 'admin listening')
  const admin = `http://127.0.0.1:${port}`
  const run = (token: string, ...args: readonly string[]) =>
    runCommand([...args, '--admin', admin, '--config', file], { LENDER_GATEWAY_ADMIN_TOKEN: token })

  const tokens = [tokenOf.read, tokenOf.operate]
  const [rejected, done] = await Promise.all(tokens.map((token) => run(token, 'operation', 'reject', 'inventory.sync')))
  const shown = await run(tokenOf.read, 'status')
  const drained = await run(operatorJwt(), 'operation', 'reject', 'leads.pipeline')
  write(withoutAnna)
  const { status } = await fetchAdmin(`${admin}/reload`, 'POST', { headers: bearerOf('operate') })

  const why = 'auditor has the scope read: that is to read, and to send no commands; this takes the scope operate'
  expect(rejected).toMatchObject({ code: 2, err: expect.stringContaining(why) })
  expect(done).toMatchObject({ code: 0, out: expect.stringContaining('inventory.sync is rejected until ') })
  expect(shown.out).toMatch(/^inventory\.sync +REJECTED by oncall-anna until /m)
  expect(drained).toMatchObject({ code: 0, out: expect.stringContaining('leads.pipeline is rejected until ') })
  expect([status, await statusWith(admin, bearerOf('operate'))]).toEqual([200, 401])
  const named = (operation: string) =>
    gateway.line((line) => line.msg === 'operation override' && line.operation === operation)
  expect(await named('leads.pipeline')).toMatchObject({ by: 'anna@lender.example' })
  expect(await named('inventory.sync')).toMatchObject({ by: 'oncall-anna' })
})
