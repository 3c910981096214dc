import { describe, expect, test } from 'vitest'
import { toNetworkKey } from '../../../../src/core/lib/net/addresses.ts'
import { collectGarbage } from '../../../helpers/collect-garbage.ts'

describe('an IPv6 address is counted with its network', () => {
  test.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', 64, true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', 64, false],
    ['2001:db8::', '2001:db8:0:0:1::', 64, true],
    ['2001:DB8::1', '2001:db8::2', 64, true],
    ['fe80::1%eth0', 'fe80::2', 64, true],
    ['2001:db8:1:200::1', '2001:db8:1:2ff::1', 56, true],
    ['2001:db8:1:200::1', '2001:db8:1:300::1', 56, false],
    ['2001:db8::1', '2001:db8::2', 128, false],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201', 128, true],
    ['::1', '::', 64, true],
  ])('%s and %s by %i bits: %s', (one, other, bits, isSame) => {
    expect(toNetworkKey(one, bits) === toNetworkKey(other, bits)).toBe(isSame)
  })
})

test('an IPv4 address, and text that is no address, count by themselves', () => {
  expect(toNetworkKey('192.0.2.1', 64)).toBe('192.0.2.1')
  expect(toNetworkKey('', 64)).toBe('')
})

test('a stored key does not keep the field that its address was cut out of', () => {
  const [fields, bytes] = [20, 256 * 1024]
  const cutOut = (): string =>
    Buffer.alloc(bytes, 'x').toString('latin1').concat(',192.168.100.100').split(',')[1] ?? ''
  collectGarbage()
  const before = process.memoryUsage().heapUsed

  const keys = Array.from({ length: fields }, () => toNetworkKey(cutOut(), 64))
  collectGarbage()

  expect(process.memoryUsage().heapUsed - before).toBeLessThan((fields * bytes) / 2)
  expect(new Set(keys).size).toBe(1)
})
