import { expect, test } from 'vitest'
import { neededFiles } from '../../../src/core/runtime/gateway.ts'
import { testConfig } from '../../helpers/gateway.ts'

test('a candidate has places of its own, and so has each endpoint', () => {
  const candidate = { endpoints: ['http://192.0.2.3'], maxConnections: 7, shadow: { sample: '1%', concurrency: 3 } }
  const upstreams = { risk: { endpoints: ['http://192.0.2.1', 'http://192.0.2.2'], candidate } }
  const config = testConfig({ upstreams, listen: { maxConnections: 1 }, defaults: { maxConnections: 10 } })

  expect(neededFiles(config, 1)).toBe(1 + 9 * 10 + 7 + 3 + 512)
})
