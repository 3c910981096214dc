import { expect, test } from 'vitest'
import { perWorkerConfig } from '../../../src/features/workers/worker-pool.ts'
import { groups } from '../../../src/operations.ts'
import { testConfig } from '../../helpers/gateway.ts'

const config = testConfig({
  listen: { maxConnections: 100 },
  limits: { concurrency: 50 },
  operations: { 'market.insights': { concurrency: 4 } },
  log: { buffer: '10KiB' },
  defaults: { maxConnections: 7, maxPending: 9, concurrency: 8, retry: { attempts: 2, budget: { floor: 1 } } },
})

test('limits of the whole gateway are divided, and rounded up', () => {
  const divided = perWorkerConfig(config, 3)

  expect([divided.listen.maxConnections, divided.limits.concurrency, divided.log.buffer]).toEqual([34, 17, 3414])
  expect(divided.operations['market.insights'].concurrency).toBe(2)
  for (const group of groups)
    expect(divided.upstreams[group]).toMatchObject({ maxConnections: 3, maxPending: 3, concurrency: 3 })
})

test('the floor of retries is divided without rounding: three thirds a second are one', () => {
  for (const group of groups)
    expect(perWorkerConfig(config, 3).upstreams[group].retry?.budget).toEqual({
      ...config.upstreams[group].retry?.budget,
      floor: 1 / 3,
    })
})

test('a candidate has places of its own, which are divided as well', () => {
  const { market } = perWorkerConfig(
    testConfig({
      upstreams: { market: { endpoints: ['sandbox'], candidate: { endpoints: ['sandbox'], maxConnections: 4 } } },
      defaults: { maxPending: 9 },
    }),
    3,
  ).upstreams

  expect(market.candidate?.upstream).toMatchObject({ maxConnections: 2, maxPending: 3, retry: null })
  expect(market).toMatchObject({ maxConnections: 86, maxPending: 3 })
})

test('nothing else is touched, the hash least of all', () => {
  expect(perWorkerConfig(config, 1)).toEqual(config)
  expect(perWorkerConfig(config, 3).hash).toBe(config.hash)
})

test('a limit that is off stays off', () => {
  const divided = perWorkerConfig(
    testConfig({ listen: { maxConnections: 'none' }, limits: { concurrency: 'none' } }),
    2,
  )
  const { listen, limits, upstreams, operations } = divided

  expect([listen.maxConnections, upstreams.risk.retry]).toEqual([null, null])
  for (const { concurrency } of [limits, upstreams.risk, operations['market.insights']]) expect(concurrency).toBeNull()
})
