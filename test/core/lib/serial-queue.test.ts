import { expect, test, vi } from 'vitest'
import { SerialQueue } from '../../../src/core/lib/serial-queue.ts'

test('a task begins when the previous one has ended, even if that failed', async () => {
  const queue = new SerialQueue()
  const { promise: gate, reject } = Promise.withResolvers<string>()
  const first = vi.fn(() => gate)
  const second = vi.fn(async () => 'second')

  const [firstDone, secondDone] = [queue.run(first), queue.run(second)]
  firstDone.catch(() => {})
  await new Promise((resolve) => setImmediate(resolve))
  const begunMeanwhile = [first.mock.calls.length, second.mock.calls.length]
  reject(new Error('first failed'))

  await expect(firstDone).rejects.toThrow('first failed')
  expect(await secondDone).toBe('second')
  expect(begunMeanwhile).toEqual([1, 0])
})
