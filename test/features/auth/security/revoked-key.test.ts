import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'

const secret = 'a'.repeat(43)

test('a client that was removed from an included file is not let in again by a rollback', async () => {
  const bankA = { id: 'bank-a', operations: 'all', apiKeys: [{ id: 'a', sha256: hash('sha256', secret) }] }
  const live = await bootLiveGateway()
  const write = (...clients: readonly object[]): void =>
    writeFileSync(join(live.folder, 'clients.json'), JSON.stringify(clients))
  const settings = { auth: { methods: ['apiKey'] }, clients: 'file:clients.json' }
  const ask = async (): Promise<number> =>
    (await fetch(`${live.url}/market/insights`, { headers: { 'X-Api-Key': `a.${secret}` } })).status
  write(bankA)
  live.edit(settings)
  await live.gateway.reload('request')
  expect(await ask()).toBe(200)

  write()
  await live.gateway.reload('request')
  expect(await ask()).toBe(401)
  const gone = await live.line(({ to, msg }) => msg === 'configuration applied' && to === live.gateway.config.hash)
  live.edit({ ...settings, log: { level: 'debug' } })
  await live.gateway.reload('request')
  const { body } = await fetchAdmin(`${live.admin}/rollback`, 'POST')

  expect(gone.changes).toMatchObject([
    { path: 'clients', from: 'file:clients.json', to: 'file:clients.json' },
    { path: 'clients.bank-a', from: '***', to: null },
  ])
  expect(body).toMatchObject({ result: 'applied' })
  expect(await ask()).toBe(401)
  expect((await fetchAdmin(`${live.admin}/rollback`, 'POST')).status).toBe(200)
  expect(await ask()).toBe(401)
})
