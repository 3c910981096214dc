import { expect, test, vi } from 'vitest'
import { CheckQueue } from '../../../src/layers/contract/check-queue.ts'
import { batchWrite } from '../../../src/shared/write-batching.ts'

test('checks run in their order, in a later turn of the event loop', async () => {
  const queue = new CheckQueue(() => {})
  const order: number[] = []
  for (const i of [1, 2, 3]) queue.add(() => order.push(i))

  expect(order).toEqual([])
  await vi.waitFor(() => expect(order).toEqual([1, 2, 3]))
})

test('what is written in a turn goes out before the checks of that turn', async () => {
  const queue = new CheckQueue(() => {})
  const order: string[] = []
  queue.add(() => order.push('check'))
  batchWrite(() => order.push('write'))

  await vi.waitFor(() => expect(order).toHaveLength(2))
  expect(order).toEqual(['write', 'check'])
})

test('a check that throws is told of once a second, and the others run', async () => {
  const onError = vi.fn()
  const queue = new CheckQueue(onError)
  const done = vi.fn()
  for (let i = 0; i < 100; i++)
    queue.add(() => {
      throw new Error('broken')
    })
  queue.add(done)

  await vi.waitFor(() => expect(done).toHaveBeenCalled())
  expect(onError).toHaveBeenCalledTimes(1)
})

test('slow checks leave the event loop to others in between', async () => {
  const queue = new CheckQueue(() => {})
  let turns = 0
  const turnsAt: number[] = []
  const countTurns = (): void => {
    turns++
    if (turnsAt.length < 3) setImmediate(countTurns)
  }
  for (let i = 0; i < 3; i++)
    queue.add(() => {
      for (const until = performance.now() + 10; performance.now() < until; );
      turnsAt.push(turns)
    })
  countTurns()

  await vi.waitFor(() => expect(turnsAt).toHaveLength(3))
  expect(new Set(turnsAt).size).toBe(3)
})

test('a bounded number of them waits', () => {
  const queue = new CheckQueue(() => {})
  const added = Array.from({ length: 10_001 }, () => queue.add(() => {}))

  expect(added.filter((is) => !is)).toHaveLength(1)
  expect(added.at(-1)).toBe(false)
})
