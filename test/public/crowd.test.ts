import { expect, test } from 'vitest'
import { Crowd } from '../../src/public/crowd.ts'
import { testConfig } from '../helpers/gateway.ts'

const crowdOf = (most: number | 'none', trustedProxies: readonly string[] = []): Crowd => {
  const crowd = new Crowd()
  crowd.bound(testConfig({ listen: { maxConnectionsPerAddress: most, trustedProxies } }).listen)
  return crowd
}

test('so many of one address are let in, and another when one has left', () => {
  const crowd = crowdOf(2)

  const entered = ['10.0.0.1', '::ffff:10.0.0.1', '10.0.0.1', '10.0.0.2'].map((from) => crowd.enter(from))
  crowd.leave('10.0.0.1')

  expect(entered).toEqual(['10.0.0.1', '10.0.0.1', false, '10.0.0.2'])
  expect([crowd.enter('10.0.0.1'), crowd.enter('10.0.0.1')]).toEqual(['10.0.0.1', false])
})

test('of IPv6 a network of 64 bits counts as one', () => {
  const crowd = crowdOf(1)

  expect(crowd.enter('2001:db8:0:1::1')).not.toBe(false)
  expect(crowd.enter('2001:db8:0:1:ffff::2')).toBe(false)
  expect(crowd.enter('2001:db8:0:2::1')).not.toBe(false)
})

test('trusted proxies are not counted, and without a bound nobody is', () => {
  const [proxied, free] = [crowdOf(1, ['10.0.0.0/8']), crowdOf('none')]

  expect([1, 2, 3].map(() => proxied.enter('10.9.9.9'))).toEqual([null, null, null])
  expect([1, 2, 3].map(() => free.enter('10.9.9.9'))).toEqual([null, null, null])
})
