import { expect, test } from 'vitest'
import { ttlArgument } from '../../../../src/core/admin/commands/apply-override.ts'

test('a command holds for 1s to 24h, both included, and for 15m by default', () => {
  expect(['999ms', '1s', '24h', '86401s', undefined].map((given) => ttlArgument.read(given))).toEqual([
    ...[undefined, 1000, 86_400_000, undefined, 900_000],
  ])
})
