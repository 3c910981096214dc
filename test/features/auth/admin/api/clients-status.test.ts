import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { clientsStatus } from '../../../../../src/features/auth/admin.ts'
import { testConfig } from '../../../../helpers/gateway.ts'

test('/status counts the clients, and the disabled ones, without their ids', () => {
  const client = (id: string) => ({ id, operations: 'all', apiKeys: [{ id, sha256: hash('sha256', id.repeat(20)) }] })
  const clients = [client('bank-a'), { ...client('bank-b'), disabled: true }, client('bank-c')]

  const status = clientsStatus(testConfig({ auth: { methods: ['apiKey'], identityField: 'none' }, clients }))

  expect(status).toEqual({ methods: ['apiKey'], count: 3, disabled: 1 })
  expect(clientsStatus(testConfig())).toBeNull()
})
