import { expect, onTestFinished, test } from 'vitest'
import { createAuditLog, sha256, whole } from '../../../features/audit/audit-log-place.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { eventually } from '../../../helpers/wire.ts'

test('commands and reloads leave lines, rejected ones too', async () => {
  const log = createAuditLog(onTestFinished)
  const token = 'planted-token-0123456789'
  const live = await bootLiveGateway({ audit: log.settings, admin: { token } })
  const command = (path: string, body = '', init: RequestInit = {}) =>
    fetchAdmin(live.admin + path, 'POST', { body, headers: { Authorization: `Bearer ${token}` }, ...init })

  await command('/operations/reject', '{"operation":"inventory.sync"}')
  await command('/reload', '', { headers: { Authorization: 'Bearer planted-guess' } })
  live.edit('nonsense: planted')
  await command('/reload')
  live.edit({ audit: log.settings, admin: { token }, log: { access: false } })
  await command('/reload?force')
  await command('/rollback')
  await eventually(() => log.lines().length >= 10)

  const [one, two] = [expect.stringMatching(/^[0-9a-f]{12}$/), expect.stringMatching(/^[0-9a-f]{12}$/)]
  const admin = (path: string, status: number) => ({ event: 'admin request', request: `POST ${path}`, status })
  expect(log.lines().slice(1)).toMatchObject([
    { event: 'operation override', operation: 'inventory.sync', state: 'reject' },
    admin('/operations/reject', 200),
    admin('/reload', 401),
    { event: 'reload', trigger: 'request', result: 'rejected', config: one },
    admin('/reload', 422),
    { event: 'reload', trigger: 'request', result: 'applied', from: one, config: two, forced: true },
    admin('/reload', 200),
    { event: 'reload', trigger: 'rollback', result: 'applied', from: two, config: one },
    admin('/rollback', 200),
  ])
  expect(log.text()).not.toContain('planted')
  expect(await log.verify()).toEqual(whole)
})

test('the client, and its authentication method, stand in the line', async () => {
  const log = createAuditLog(onTestFinished)
  const secret = 's'.repeat(43)
  const live = await bootLiveGateway({
    audit: log.settings,
    auth: { methods: ['apiKey'] },
    clients: [{ id: 'bank-a', apiKeys: [{ id: 'k1', sha256: sha256(secret) }], operations: ['market.insights'] }],
  })
  const ask = (id: string, key: string) =>
    fetch(`${live.url}/market/insights`, { headers: { 'X-Request-Id': id, 'X-Api-Key': key } })

  await ask('known', `k1.${secret}`)
  await ask('unknown', 'k1.planted-guess')
  await eventually(() => log.lines().length >= 3)

  expect(log.lines().slice(1)).toMatchObject([
    { requestId: 'known', client: 'bank-a', method: 'apiKey', status: 200 },
    { requestId: 'unknown', client: null, method: null, status: 401, failure: 'unauthenticated' },
  ])
  expect(log.text()).not.toContain('planted')
})
