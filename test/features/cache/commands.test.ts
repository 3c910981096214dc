/** What an operator is told of stored responses that are to be removed. */
import { expect, test } from 'vitest'
import type { AdminContext } from '../../../src/core/admin/admin-context.ts'
import type { PurgeResult } from '../../../src/features/cache/cache-registry.ts'
import { cacheCommands } from '../../../src/features/cache/commands.ts'

/** Runs the command where so many workers did not reply, and the others replied with these results. */
const purge = async (results: readonly PurgeResult[], silent: number, cache: object | null = {}) => {
  const reloader = { config: { operations: { 'market.insights': { cache } } } }
  const context = { reloader, runEverywhere: async () => ({ results, silent }) } as unknown as AdminContext
  return await cacheCommands.commands[0]?.run(
    context,
    { operation: null, client: null },
    { by: 'an operator', apply: async () => {}, recheck: () => null },
  )
}

test('of several workers, what all have removed is added up', async () => {
  const result = await purge(
    [3, 4].map((removed) => ({ removed, isSharedPurged: true })),
    0,
  )

  expect(result).toEqual({ operation: null, client: null, removed: 7 })
})

test('where no worker serves, Redis is not told, so nothing is said to be removed', async () => {
  const result = await purge([], 0)

  expect(result).toEqual({ status: 503, code: 'workers-not-replying', detail: expect.stringContaining('no worker') })
})

test('where one worker did not reply, the others have removed what they had', async () => {
  const result = await purge([{ removed: 3, isSharedPurged: true }], 1)

  expect(result).toMatchObject({ status: 503, code: 'workers-not-replying', done: { removed: 3 } })
})

test.each([
  [{ operation: null, client: null }, 'The cache is cleared: 1 response removed.'],
  [{ operation: 'market.insights', client: null }, 'The cache of market.insights is cleared: 1 response removed.'],
  [{ operation: null, client: 'bank-a' }, 'The cache is cleared for bank-a: 1 response removed.'],
  [{ operation: null, client: '' }, 'The cache is cleared for requests without a client: 1 response removed.'],
])('the page says of %j what was cleared, and for which client', (scope, expected) => {
  expect(cacheCommands.commands[0]?.successText({ ...scope, removed: 1 })).toBe(expected)
})

test('a cache that is off removes nothing where it never was on, and what is left where it was', async () => {
  const done = { operation: null, client: null }

  expect(await purge([], 0, null)).toEqual({ ...done, removed: 0 })
  expect(await purge([{ removed: 3, isSharedPurged: true }], 0, null)).toEqual({ ...done, removed: 3 })
})
