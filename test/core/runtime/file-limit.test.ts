import { expect, test } from 'vitest'
import { maxClientFiles, maxOpenFiles, maxUpstreamFiles } from '../../../src/core/lib/file-descriptors.ts'
import { neededFiles } from '../../../src/core/runtime/gateway.ts'
import { testConfig } from '../../helpers/gateway.ts'

test('clients get two fifths of a low limit, and all but 4,096 of a high one', () => {
  expect([100, 1024, 6000, 20_480, 1_048_576].map(maxClientFiles)).toEqual([40, 409, 2400, 16_384, 1_044_480])
  expect(maxClientFiles(Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY)
})

test('requests get 35 % of a low limit as connections to upstreams, and half of a high one but for 512', () => {
  expect([100, 1024, 6000, 20_480].map(maxUpstreamFiles)).toEqual([35, 358, 2744, 9984])
  expect(maxUpstreamFiles(Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY)
})

test('the connections of clients, the places of all endpoints and 512 others are needed, divided among the workers', () => {
  const config = testConfig({ listen: { maxConnections: 1000 }, defaults: { maxConnections: 100 } })

  expect(neededFiles(config, 1)).toBe(1000 + 8 * 100 + 512)
  expect(neededFiles(config, 2)).toBe(500 + 8 * 50 + 512)
})

test('without a bound on connections clients get what is left', () => {
  expect(neededFiles(testConfig({ listen: { maxConnections: 'none' } }), 1)).toBe(8 * 256 + 512)
})

test('the limit of this process is known', () => {
  expect(maxOpenFiles()).toBeGreaterThan(0)
})
