import { expect, test, vi } from 'vitest'
import { batchWrite } from '../../../src/core/lib/clock.ts'
import { createDeferredWork } from '../../../src/features/contract/check-queue.ts'

test('work runs in its order, in a later turn of the event loop', async () => {
  const work = createDeferredWork(() => {})
  const order: number[] = []
  for (const i of [1, 2, 3]) work.add(() => order.push(i))

  expect(order).toEqual([])
  await vi.waitFor(() => expect(order).toEqual([1, 2, 3]))
})

test('what is written in a turn goes out before the work of that turn', async () => {
  const work = createDeferredWork(() => {})
  const order: string[] = []
  work.add(() => order.push('work'))
  batchWrite(() => order.push('write'))

  await vi.waitFor(() => expect(order).toHaveLength(2))
  expect(order).toEqual(['write', 'work'])
})

test('work that throws is told of once a second, and the others run', async () => {
  const onError = vi.fn()
  const work = createDeferredWork(onError)
  const done = vi.fn()
  for (let i = 0; i < 100; i++)
    work.add(() => {
      throw new Error('broken')
    })
  work.add(done)

  await vi.waitFor(() => expect(done).toHaveBeenCalled())
  expect(onError).toHaveBeenCalledTimes(1)
})

test('slow work leaves the event loop to others in between', async () => {
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

  await vi.waitFor(() => expect(turnsAt).toHaveLength(3))
  expect(new Set(turnsAt).size).toBe(3)
})

test('a bounded amount of it waits', () => {
  const work = createDeferredWork(() => {})
  const added = Array.from({ length: 10_001 }, () => work.add(() => {}))

  expect(added.filter((is) => !is)).toHaveLength(1)
  expect(added.at(-1)).toBe(false)
})
