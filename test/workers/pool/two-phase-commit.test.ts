import { expect, test } from 'vitest'
import { prepareAll } from '../../../src/workers/pool/two-phase-commit.ts'
import type { WorkerSlot } from '../../../src/workers/pool/worker-slot.ts'

/** Creates the slot of a worker with this reply to `prepare`; `sent` is what it was sent since. */
const slotOf = (number: number, prepare: () => Promise<void>) => {
  const sent: { readonly type: string; readonly prepared: number }[] = []
  const worker = { pid: number, call: prepare, send: (message: (typeof sent)[number]) => void sent.push(message) }
  return { sent, slot: { number, isServing: true, worker } as unknown as WorkerSlot }
}

test('what one worker cannot prepare all discard, and the error names that worker', async () => {
  const sound = slotOf(1, async () => {})
  const unable = slotOf(2, () => Promise.reject(new Error('has no room')))

  const prepared = prepareAll([sound.slot, unable.slot], {} as never, { replyMs: 1000, startMs: 1000 })

  await expect(prepared).rejects.toThrow('worker 2 (process 2) has no room')
  expect(sound.sent).toEqual([{ type: 'discard', prepared: expect.any(Number) }])
  expect(unable.sent).toEqual(sound.sent)
})
