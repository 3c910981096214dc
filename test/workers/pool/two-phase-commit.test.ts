import { expect, test } from 'vitest'
import { prepareAll } from '../../../src/workers/pool/two-phase-commit.ts'
import type { WorkerSlot } from '../../../src/workers/pool/worker-slot.ts'

/** Makes the post of a worker that answers so when it is asked to prepare a state; `sent` is what it was sent since. */
const postOf = (number: number, prepare: () => Promise<void>) => {
  const sent: { readonly type: string; readonly prepared: number }[] = []
  const worker = { pid: number, call: prepare, send: (message: (typeof sent)[number]) => void sent.push(message) }
  return { sent, post: { number, isServing: true, worker } as unknown as WorkerSlot }
}

test('what one worker cannot prepare all forget, and the refusal names that worker', async () => {
  const sound = postOf(1, async () => {})
  const unable = postOf(2, () => Promise.reject(new Error('has no room')))

  const agreed = prepareAll([sound.post, unable.post], {} as never, { answerMs: 1000, startMs: 1000 })

  await expect(agreed).rejects.toThrow('worker 2 (process 2) has no room')
  expect(sound.sent).toEqual([{ type: 'discard', prepared: expect.any(Number) }])
  expect(unable.sent).toEqual(sound.sent)
})
