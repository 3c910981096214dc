import { expect, test } from 'vitest'
import { PerAddressConnectionLimit } from '../../../src/downstream/listener/per-address-limit.ts'
import { testConfig } from '../../helpers/gateway.ts'

const createLimit = (most: number | 'none', trustedProxies: readonly string[] = []): PerAddressConnectionLimit => {
  const crowd = new PerAddressConnectionLimit()
  crowd.applyConfig(testConfig({ listen: { maxConnectionsPerAddress: most, trustedProxies } }).listen)
  return crowd
}

test('so many of one address are let in, and another when one has left', () => {
  const limit = createLimit(2)

  const entered = ['10.0.0.1', '::ffff:10.0.0.1', '10.0.0.1', '10.0.0.2'].map((from) => limit.acquire(from))
  limit.release('10.0.0.1')

  expect(entered).toEqual(['10.0.0.1', '10.0.0.1', false, '10.0.0.2'])
  expect([limit.acquire('10.0.0.1'), limit.acquire('10.0.0.1')]).toEqual(['10.0.0.1', false])
})

test('of IPv6 a network of 64 bits counts as one', () => {
  const limit = createLimit(1)

  expect(limit.acquire('2001:db8:0:1::1')).not.toBe(false)
  expect(limit.acquire('2001:db8:0:1:ffff::2')).toBe(false)
  expect(limit.acquire('2001:db8:0:2::1')).not.toBe(false)
})

test('trusted proxies are not counted, and without a bound nobody is', () => {
  const [proxied, free] = [createLimit(1, ['10.0.0.0/8']), createLimit('none')]

  expect([1, 2, 3].map(() => proxied.acquire('10.9.9.9'))).toEqual([null, null, null])
  expect([1, 2, 3].map(() => free.acquire('10.9.9.9'))).toEqual([null, null, null])
})
