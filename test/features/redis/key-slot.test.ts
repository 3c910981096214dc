import { expect, test } from 'vitest'
import { keySlot } from '../../../src/features/redis/redis-cluster.ts'

// Redis Cluster specification, "Key distribution model" and "Hash tags"; the numbers are from CLUSTER KEYSLOT.
test.each([
  ['123456789', 12_739],
  ['', 0],
  ['foo', 12_182],
  ['{foo}bar', 12_182],
  ['a:{foo}:{bar}', 12_182],
  ['{user1000}.following', keySlot('user1000')],
  ['foo{}{bar}', 8363],
  ['foo{{bar}}zap', keySlot('{bar')],
  ['foo{bar', 15_278],
  ['schlüssel', 7677],
])('the slot of %j is %i', (key, slot) => {
  expect(keySlot(key)).toBe(slot)
})
