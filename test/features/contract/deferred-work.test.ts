import { expect, test, vi } from 'vitest'
import { batchWrite } from '../../../src/core/lib/turn-writes.ts'
import { createDeferredWork } from '../../../src/features/contract/check-queue.ts'

test('work runs in its order, in a later turn of the event loop, behind what is written in that turn', async () => {
  const work = createDeferredWork(() => {})
  const order: unknown[] = []
  for (const i of [1, 2, 3]) work.add(() => order.push(i))
  batchWrite(() => order.push('write'))

  expect(order).toEqual([])
  await vi.waitFor(() => expect(order).toEqual(['write', 1, 2, 3]))
})

test('work that throws is reported at most once a second, and other work runs', async () => {
  const [onError, done] = [vi.fn(), vi.fn()]
  const work = createDeferredWork(onError)
  for (let i = 0; i < 100; i++)
    work.add(() => {
      throw new Error('broken')
    })
  work.add(done)

  await vi.waitFor(() => expect(done).toHaveBeenCalled())
  expect(onError).toHaveBeenCalledTimes(1)
})

test('slow work yields to the event loop', async () => {
  const work = createDeferredWork(() => {})
  let turns = 0
  const turnsAt: number[] = []
  const countTurns = (): void => {
    turns++
    if (turnsAt.length < 3) setImmediate(countTurns)
  }
  for (let i = 0; i < 3; i++)
    work.add(() => {
      for (const until = performance.now() + 10; performance.now() < until; );
      turnsAt.push(turns)
    })
  countTurns()

  await vi.waitFor(() => expect(new Set(turnsAt).size).toBe(3))
})

test('deferred work beyond the bound is rejected', () => {
  const work = createDeferredWork(() => {})
  const added = Array.from({ length: 10_001 }, () => work.add(() => {}))

  expect([added.indexOf(false), added.at(-1)]).toEqual([10_000, false])
})
