import { expect, test } from 'vitest'
import { Shifts } from '../../../src/features/candidate/shift/shifts.ts'
import { deserializeInput, serializeInput } from '../../../src/features/workers/messages.ts'
import { adminTokens } from '../../helpers/admin-tokens.ts'
import { contractFile } from '../../helpers/contract.ts'
import { testConfig } from '../../helpers/gateway.ts'
import { adminJwt } from '../../helpers/operator-jwts.ts'

const configWith = (disabled: boolean) =>
  testConfig({
    auth: { methods: ['apiKey'] },
    clients: [
      { id: 'a', operations: 'all', rate: '5/s', concurrency: 2 },
      { id: 'b', operations: 'all', disabled },
    ],
  })
const none = { all: [], get: () => null }
const sent = (disabled: boolean) =>
  structuredClone(
    serializeInput({
      config: configWith(disabled),
      overrides: { operations: none, endpoints: none, learning: none, shifts: none },
      sandboxOrigin: null,
    }),
  )

test('a worker runs the configuration that it was sent', async () => {
  const { config } = await deserializeInput(sent(false), null)

  expect(config).toEqual(configWith(false))
})

test('it keeps the clients that have not changed, and no others', async () => {
  const running = (await deserializeInput(sent(false), null)).config

  const same = await deserializeInput(sent(false), running)
  const edited = await deserializeInput(sent(true), running)

  expect(same.config.clients).toBe(running.clients)
  expect(edited.config).toEqual(configWith(true))
})

test('a worker is sent nothing that opens the admin listener', () => {
  const token = 'a-token-of-an-operator'
  const config = testConfig({ admin: { token, metricsToken: `${token}2`, tokens: adminTokens, jwt: adminJwt() } })

  const sent = serializeInput({
    config,
    overrides: { operations: none, endpoints: none, learning: none, shifts: none },
    sandboxOrigin: null,
  })

  expect(config.admin.tokens).toHaveLength(adminTokens.length)
  expect(sent.config.admin).toMatchObject({
    port: config.admin.port,
    token: null,
    metricsToken: null,
    tokens: [],
    jwt: null,
  })
  expect(JSON.stringify(sent)).not.toMatch(new RegExp([token, ...adminTokens.map(({ hash }) => hash)].join('|')))
})

test('a worker is sent the compiled contract without its document', () => {
  const config = testConfig({ contract: { file: contractFile() } })

  const { compiledContract } = serializeInput({
    config,
    overrides: { operations: none, endpoints: none, learning: none, shifts: none },
    sandboxOrigin: null,
  }).config

  expect(config.compiledContract?.document).toMatchObject({ openapi: '3.1.1' })
  expect(compiledContract).toEqual({ ...config.compiledContract, document: null })
})

test('a worker is sent how much goes to each candidate, as it stands', async () => {
  const shifts = new Shifts()
  shifts.prepare({ risk: { digest: 'a', share: 0.05, steps: null } }).commit()
  shifts.takeBack('risk', 'it fails')
  const input = { config: configWith(false), overrides: { operations: none, endpoints: none, learning: none, shifts } }

  const { overrides } = await deserializeInput(structuredClone(serializeInput({ ...input, sandboxOrigin: null })), null)

  expect(overrides.shifts?.get('risk')).toEqual(shifts.get('risk'))
  expect(overrides.shifts?.get('risk')).toMatchObject({ share: 0, isStopped: true })
  expect(overrides.shifts?.get('market')).toBeNull()
})
