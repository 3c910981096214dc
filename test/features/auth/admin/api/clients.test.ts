import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Overview } from '../../../../../src/core/admin/admin-part.ts'
import { clientsStatus } from '../../../../../src/features/auth/admin.ts'
import { testConfig } from '../../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../../helpers/live-gateway.ts'

const secret = 'A'.repeat(43)

test('/overview says what a client did, and by which key, and nothing of credentials that are no good', async () => {
  const apiKeys = [{ id: 'key', sha256: hash('sha256', secret) }]
  const live = await bootLiveGateway({
    auth: { methods: ['apiKey'], identityField: 'none' },
    clients: [{ id: 'bank-a', operations: 'all', apiKeys, rate: '1/min', burst: 2 }],
  })
  const ask = async (key: string): Promise<number> =>
    (await fetch(`${live.url}/market/insights`, { headers: { 'X-API-Key': key } })).status
  const read = async () => ((await (await fetch(`${live.admin}/overview`)).json()) as Overview).clients
  const good = `key.${secret}`

  const statuses = [await ask(good), await ask(good), await ask(good), await ask(`key.${'B'.repeat(43)}`)]

  expect(statuses).toEqual([200, 200, 429, 401])
  await expect.poll(read).toEqual({
    seen: 1,
    complete: true,
    rows: [
      {
        ...{ client: 'bank-a', requests: 3, limited: 1, rejected: 0, failed: 0, keyId: 'key' },
        ...{ p50: expect.any(Number), p99: expect.any(Number), lastAt: expect.any(String) },
      },
    ],
  })
})

test('/status counts the clients, and the disabled ones, without their ids', () => {
  const client = (id: string) => ({ id, operations: 'all', apiKeys: [{ id, sha256: hash('sha256', id.repeat(20)) }] })
  const clients = [client('bank-a'), { ...client('bank-b'), disabled: true }, client('bank-c')]

  const status = clientsStatus(testConfig({ auth: { methods: ['apiKey'], identityField: 'none' }, clients }))

  expect(status).toEqual({ methods: ['apiKey'], count: 3, disabled: 1 })
  expect(clientsStatus(testConfig())).toBeNull()
})
