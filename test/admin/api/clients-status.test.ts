import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { clientsStatus } from '../../../src/admin/api/status.ts'
import { testConfig } from '../../helpers/gateway.ts'

test('/status counts the clients, and those that may not come in; who they are it does not say', () => {
  const client = (id: string) => ({ id, operations: 'all', apiKeys: [{ id, sha256: hash('sha256', id.repeat(20)) }] })
  const clients = [client('bank-a'), { ...client('bank-b'), disabled: true }, client('bank-c')]

  const told = clientsStatus(testConfig({ auth: { methods: ['apiKey'], identityField: 'none' }, clients }))

  expect(told).toEqual({ methods: ['apiKey'], count: 3, disabled: 1 })
  expect(clientsStatus(testConfig())).toBeNull()
})
