/** The configuration that a worker is sent: divided, and without what opens the admin listener. */
import { expect, test } from 'vitest'
import type { Config } from '../../../src/core/config/config.ts'
import { Shifts } from '../../../src/features/candidate/shift/shifts.ts'
import { deserializeInput, serializeInput } from '../../../src/features/workers/messages.ts'
import { perWorkerConfig } from '../../../src/features/workers/worker-pool.ts'
import { groups } from '../../../src/operations.ts'
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
const overrides = { operations: none, endpoints: none, learning: none, shifts: none }
const send = (config: Config, more: Partial<typeof overrides> | { readonly shifts: Shifts } = {}) =>
  structuredClone(serializeInput({ config, overrides: { ...overrides, ...more }, sandboxOrigin: null }))

test('a worker runs the configuration that it was sent, and keeps the clients that have not changed, and no others', async () => {
  const running = (await deserializeInput(send(configWith(false)), null)).config

  const same = await deserializeInput(send(configWith(false)), running)
  const edited = await deserializeInput(send(configWith(true)), running)

  expect(running).toEqual(configWith(false))
  expect(same.config.clients).toBe(running.clients)
  expect(edited.config).toEqual(configWith(true))
})

test('a worker is sent nothing that opens the admin listener', () => {
  const token = 'a-token-of-an-operator'
  const config = testConfig({ admin: { token, metricsToken: `${token}2`, tokens: adminTokens, jwt: adminJwt() } })

  const sent = send(config)

  expect(config.admin.tokens).toHaveLength(adminTokens.length)
  const { port } = config.admin
  expect(sent.config.admin).toMatchObject({ port, token: null, metricsToken: null, tokens: [], jwt: null })
  expect(JSON.stringify(sent)).not.toMatch(new RegExp([token, ...adminTokens.map(({ hash }) => hash)].join('|')))
})

test('a worker is sent the compiled contract without its document', () => {
  const config = testConfig({ contract: { file: contractFile() } })

  const { compiledContract } = send(config).config

  expect(config.compiledContract?.document).toMatchObject({ openapi: '3.1.1' })
  expect(compiledContract).toEqual({ ...config.compiledContract, document: null })
})

test('a worker is sent how much goes to each candidate, as it stands', async () => {
  const shifts = new Shifts()
  shifts.prepare({ risk: { digest: 'a', share: 0.05, steps: null } }).commit()
  shifts.takeBack('risk', 'it fails')

  const { overrides } = await deserializeInput(send(configWith(false), { shifts }), null)

  expect(overrides.shifts?.get('risk')).toEqual(shifts.get('risk'))
  expect(overrides.shifts?.get('risk')).toMatchObject({ share: 0, isStopped: true })
  expect(overrides.shifts?.get('market')).toBeNull()
})

const limited = testConfig({
  listen: { maxConnections: 100 },
  limits: { concurrency: 50 },
  operations: { 'market.insights': { concurrency: 4 } },
  log: { buffer: '10KiB' },
  defaults: { maxConnections: 7, maxPending: 9, concurrency: 8, retry: { attempts: 2, budget: { floor: 1 } } },
})

test('limits of the whole gateway are divided, and rounded up', () => {
  const divided = perWorkerConfig(limited, 3)

  expect([divided.listen.maxConnections, divided.limits.concurrency, divided.log.buffer]).toEqual([34, 17, 3414])
  expect(divided.operations['market.insights'].concurrency).toBe(2)
  for (const group of groups)
    expect(divided.upstreams[group]).toMatchObject({ maxConnections: 3, maxPending: 3, concurrency: 3 })
})

// Three thirds a second are one.
test('the floor of retries is divided without rounding', () => {
  for (const group of groups) {
    const budget = { ...limited.upstreams[group].retry?.budget, floor: 1 / 3 }
    expect(perWorkerConfig(limited, 3).upstreams[group].retry?.budget).toEqual(budget)
  }
})

test('a candidate has places of its own, which are divided as well', () => {
  const candidate = { endpoints: ['sandbox'], maxConnections: 4 }
  const upstreams = { market: { endpoints: ['sandbox'], candidate } }
  const { market } = perWorkerConfig(testConfig({ upstreams, defaults: { maxPending: 9 } }), 3).upstreams

  expect(market.candidate?.upstream).toMatchObject({ maxConnections: 2, maxPending: 3, retry: null })
  expect(market).toMatchObject({ maxConnections: 86, maxPending: 3 })
})

test('nothing else is touched, the hash least of all', () => {
  expect(perWorkerConfig(limited, 1)).toEqual(limited)
  expect(perWorkerConfig(limited, 3).hash).toBe(limited.hash)
})

test('a limit that is off stays off', () => {
  const off = testConfig({ listen: { maxConnections: 'none' }, limits: { concurrency: 'none' } })
  const { listen, limits, upstreams, operations } = perWorkerConfig(off, 2)

  expect([listen.maxConnections, upstreams.risk.retry]).toEqual([null, null])
  for (const { concurrency } of [limits, upstreams.risk, operations['market.insights']]) expect(concurrency).toBeNull()
})
