import { expect, test } from 'vitest'
import { WorkersNotAnsweringError } from '../../../src/runtime/workers-not-answering-error.ts'
import { ReplyTimeoutError } from '../../../src/workers/ipc/rpc.ts'
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

test('a worker that has not replied is named in an error of its own, unless another one cannot prepare it at all', async () => {
  const late = (number: number) => slotOf(number, () => Promise.reject(new ReplyTimeoutError('did not answer')))
  const unable = slotOf(3, () => Promise.reject(new Error('has no room')))
  const prepare = (...slots: readonly ReturnType<typeof slotOf>[]) =>
    prepareAll(
      slots.map(({ slot }) => slot),
      {} as never,
      { replyMs: 1000, startMs: 1000 },
    ).catch((error: unknown) => error)

  expect(await prepare(late(1), late(2))).toEqual(
    new WorkersNotAnsweringError('worker 1 (process 1) did not answer, worker 2 (process 2) did not answer'),
  )
  expect(await prepare(late(1), unable)).toEqual(new Error('worker 3 (process 3) has no room'))
})
