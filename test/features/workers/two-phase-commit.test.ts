import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { sleep } from '../../../src/core/lib/clock.ts'
import { WorkersNotReplyingError } from '../../../src/core/runtime/proxy-server.ts'
import { ReplyTimeoutError } from '../../../src/features/workers/messages.ts'
import { prepareAll } from '../../../src/features/workers/two-phase-commit.ts'
import type { WorkerSlot } from '../../../src/features/workers/worker-supervisor.ts'

/** A worker with this reply to `prepare`; `sent`: messages to it since. */
const slotOf = (number: number, prepare: () => Promise<void>) => {
  const sent: { readonly type: string; readonly prepared: number }[] = []
  const worker = { pid: number, call: prepare, send: (message: (typeof sent)[number]) => void sent.push(message) }
  return { sent, slot: { number, isServing: true, worker } as unknown as WorkerSlot }
}

const timeouts = { replyMs: 1000, urgentReplyMs: 100, startMs: 1000 }

test.each([
  ['all discard', undefined],
  ['is put into effect nowhere, urgent or not', Promise.resolve()],
])('what one worker cannot prepare %s, and the error names that worker', async (_, urgent) => {
  const sound = slotOf(1, async () => {})
  const unable = slotOf(2, () => Promise.reject(new Error('has no room')))

  const prepared = prepareAll([sound.slot, unable.slot], {} as never, timeouts, urgent)

  await expect(prepared).rejects.toThrow('worker 2 (process 2) has no room')
  expect(sound.sent).toEqual([{ type: 'discard', prepared: expect.any(Number) }])
  expect(unable.sent).toEqual(sound.sent)
})

test('a worker that has not replied is named in an error of its own, unless another one cannot prepare it at all', async () => {
  const late = (number: number) => slotOf(number, () => Promise.reject(new ReplyTimeoutError('did not reply')))
  const unable = slotOf(3, () => Promise.reject(new Error('has no room')))
  const prepare = (...fakes: readonly ReturnType<typeof slotOf>[]) => {
    const slots = fakes.map(({ slot }) => slot)
    return prepareAll(slots, {} as never, timeouts).catch((error: unknown) => error)
  }

  expect(await prepare(late(1), late(2))).toEqual(
    new WorkersNotReplyingError('worker 1 (process 1) did not reply, worker 2 (process 2) did not reply'),
  )
  expect(await prepare(late(1), unable)).toEqual(new Error('worker 3 (process 3) has no room'))
})

describe('what is urgent', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  /** A worker that never replies; records calls with their timeouts. */
  const hanging = (number: number) => {
    const calls: (readonly [type: string, timeoutMs: number])[] = []
    const kill = vi.fn()
    const call = (type: string, _: object, timeoutMs: number) => {
      calls.push([type, timeoutMs])
      return type === 'prepare' ? new Promise(() => {}) : Promise.reject(new ReplyTimeoutError('did not reply'))
    }
    const worker = { pid: number, call, send: () => {}, kill }
    return { calls, kill, slot: { number, isServing: true, worker } as unknown as WorkerSlot }
  }

  test('waits briefly for a worker that hangs, which is told all the same, or replaced', async () => {
    const sound = slotOf(1, async () => {})
    const hung = hanging(2)

    const prepared = prepareAll([sound.slot, hung.slot], {} as never, timeouts, Promise.resolve())
    await vi.advanceTimersByTimeAsync(100)
    const change = await prepared
    await change.commit([])
    await vi.waitFor(() => expect(hung.kill).toHaveBeenCalledOnce())
    expect(hung.kill).toHaveBeenCalledWith('could not put a change into effect: did not reply')

    expect(hung.calls).toEqual([
      ['prepare', 1000],
      ['commit', 1000],
    ])
    expect(sound.sent).toEqual([])
  })

  test('hurries what is being prepared already', async () => {
    const { promise: urgent, resolve } = Promise.withResolvers<void>()
    const hung = hanging(1)
    let isPrepared = false

    const prepared = prepareAll([hung.slot], {} as never, timeouts, urgent).then((change) => {
      isPrepared = true
      return change
    })
    await vi.advanceTimersByTimeAsync(500)
    const before = isPrepared
    resolve()
    await vi.advanceTimersByTimeAsync(100)
    await (await prepared).commit([])

    expect([before, isPrepared]).toEqual([false, true])
    expect(hung.calls).toContainEqual(['commit', 1000])
  })

  test('hurries what is being committed already, and replaces a worker that does not confirm', async () => {
    const { promise: urgent, resolve } = Promise.withResolvers<void>()
    const kill = vi.fn()
    const call = async (type: string, _: object, timeoutMs: number) => {
      if (type === 'prepare') return
      await sleep(timeoutMs)
      throw new ReplyTimeoutError('did not reply')
    }
    const slot = { number: 1, isServing: true, worker: { pid: 1, call, send: () => {}, kill } }
    let isCommitted = false

    const change = await prepareAll([slot as unknown as WorkerSlot], {} as never, timeouts, urgent)
    const committed = change.commit([]).then(() => {
      isCommitted = true
    })
    await vi.advanceTimersByTimeAsync(500)
    const before = isCommitted
    resolve()
    await vi.advanceTimersByTimeAsync(100)
    const after = [isCommitted, kill.mock.calls.length]
    await vi.advanceTimersByTimeAsync(400)
    await committed

    expect([before, after]).toEqual([false, [true, 0]])
    expect(kill).toHaveBeenCalledExactlyOnceWith('could not put a change into effect: did not reply')
  })

  test('gives a worker that has prepared in time a short time to confirm, though another one hangs', async () => {
    const confirmed = Promise.withResolvers<void>()
    const calls: string[] = []
    const call = (type: string) => {
      calls.push(type)
      return type === 'commit' ? confirmed.promise : Promise.resolve()
    }
    const slot = { number: 1, isServing: true, worker: { pid: 1, call, send: () => {} } }
    const hung = hanging(2)
    let isCommitted = false

    const prepared = prepareAll([slot as unknown as WorkerSlot, hung.slot], {} as never, timeouts, Promise.resolve())
    await vi.advanceTimersByTimeAsync(100)
    const committed = (await prepared).commit([]).then(() => {
      isCommitted = true
    })
    await vi.advanceTimersByTimeAsync(50)
    const before = isCommitted
    confirmed.resolve()
    await committed

    expect([calls, before]).toEqual([['prepare', 'commit'], false])
  })
})
