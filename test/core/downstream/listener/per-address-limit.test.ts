import { expect, test } from 'vitest'
import { PerAddressConnectionLimit } from '../../../../src/core/downstream/listener/open-connections.ts'
import { testConfig } from '../../../helpers/gateway.ts'

const createLimit = (max: number | 'none', trustedProxies: readonly string[] = []): PerAddressConnectionLimit => {
  const limit = new PerAddressConnectionLimit()
  limit.applyConfig(testConfig({ listen: { maxConnectionsPerAddress: max, trustedProxies } }).listen)
  return limit
}

test('as many of one address are accepted as the limit says, and another when one has closed', () => {
  const limit = createLimit(2)

  const keys = ['10.0.0.1', '::ffff:10.0.0.1', '10.0.0.1', '10.0.0.2'].map((address) => limit.acquire(address))
  limit.release('10.0.0.1')

  expect(keys).toEqual(['10.0.0.1', '10.0.0.1', false, '10.0.0.2'])
  expect([limit.acquire('10.0.0.1'), limit.acquire('10.0.0.1')]).toEqual(['10.0.0.1', false])
})

test('of IPv6 a network of 64 bits counts as one', () => {
  const limit = createLimit(1)

  expect(limit.acquire('2001:db8:0:1::1')).not.toBe(false)
  expect(limit.acquire('2001:db8:0:1:ffff::2')).toBe(false)
  expect(limit.acquire('2001:db8:0:2::1')).not.toBe(false)
})

test('trusted proxies are not counted, and without a limit no address is', () => {
  const [proxied, free] = [createLimit(1, ['10.0.0.0/8']), createLimit('none')]

  expect([1, 2, 3].map(() => proxied.acquire('10.9.9.9'))).toEqual([null, null, null])
  expect([1, 2, 3].map(() => free.acquire('10.9.9.9'))).toEqual([null, null, null])
})
