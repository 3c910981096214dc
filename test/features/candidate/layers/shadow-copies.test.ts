import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { createCopyBackoff, createShadowCopies } from '../../../../src/features/candidate/layers/shadow-copies.ts'
import { createSlotList, type SlotEntry } from '../../../../src/features/candidate/layers/slot-list.ts'
import { createDeferredWork } from '../../../../src/features/contract/check-queue.ts'
import { moveClock } from '../../../helpers/odd-clocks.ts'

test('a repeat that never began is not counted out', () => {
  const deferred = () => createDeferredWork(() => {})
  const copies = createShadowCopies(deferred(), deferred())
  copies.applyBounds({ concurrency: 1, maxBytes: 0 })
  const [begun, rejected] = [0, 1].map(() => ({ slot: -1, isRepeat: true, stop: () => {} }))
  if (begun === undefined || rejected === undefined) throw new Error('no copies')

  const began = [copies.begin(begun), copies.begin(rejected)]
  copies.end(rejected)

  expect([began, copies.repeating()]).toEqual([[null, 'full'], 1])
})

describe('the back-off', () => {
  let pass: (ms: number) => void
  beforeEach(() => {
    pass = moveClock(performance)
  })

  const afterFailures = (count: number) => {
    const backoff = createCopyBackoff()
    for (let i = 0; i < count; i++) {
      backoff.take()
      backoff.end(false)
    }
    return backoff
  }

  /** Counts the copies that go out and fail, of one each 100 ms. */
  const countFailing = (backoff: ReturnType<typeof createCopyBackoff>, ms: number): number => {
    let sent = 0
    for (let at = 0; at < ms; at += 100) {
      pass(100)
      if (!backoff.take()) continue
      sent++
      backoff.end(false)
    }
    return sent
  }

  test('four failures in a row hold no copies back, nor do fifty with successes between them', () => {
    const others = createCopyBackoff()
    for (let i = 0; i < 50; i++) others.end(i % 5 === 4)

    expect([afterFailures(4).take(), others.take()]).toEqual([true, true])
  })

  test('after five failures in a row, one copy is tried after a second', () => {
    const [inARow, atOnce] = [afterFailures(5), createCopyBackoff()]
    for (let i = 0; i < 100; i++) atOnce.take()
    for (let i = 0; i < 100; i++) atOnce.end(false)

    pass(999)
    const early = inARow.take()
    pass(1)

    expect([early, inARow.take(), inARow.take(), atOnce.take()]).toEqual([false, true, false, true])
  })

  test('the pauses between tries grow to ten seconds', () => {
    const backoff = afterFailures(5)
    const sent = [1000, 2000, 4000, 8000, 10_000, 10_000, 60_000].map((ms) => countFailing(backoff, ms))

    expect(sent).toEqual([1, 1, 1, 1, 1, 1, 6])
  })

  test('a try that does not end does not stop the next try', () => {
    const backoff = afterFailures(5)
    pass(1000)
    backoff.take()
    pass(2000)

    expect(backoff.take()).toBe(true)
  })

  test('one complete response ends the back-off, and the next pause is the shortest again', () => {
    const backoff = afterFailures(5)
    countFailing(backoff, 7000)
    pass(8000)
    backoff.take()

    backoff.end(true)

    expect([backoff.take(), backoff.take()]).toEqual([true, true])
    for (let i = 0; i < 5; i++) backoff.end(false)
    expect(countFailing(backoff, 1000)).toBe(1)
  })

  test('another configuration ends the back-off', () => {
    const backoff = afterFailures(20)
    backoff.reset()

    expect([backoff.take(), backoff.take()]).toEqual([true, true])
  })
})

test('a slot list holds what a Set would, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(9), fc.boolean())), (turns) => {
      const all = Array.from({ length: 10 }, (): SlotEntry => ({ slot: -1 }))
      const [list, model] = [createSlotList<SlotEntry>(), new Set<SlotEntry>()]

      for (const [at, isAdded] of turns) {
        const entry = all[at] as SlotEntry
        if (!isAdded) expect(list.delete(entry)).toBe(model.delete(entry))
        else if (!model.has(entry)) {
          list.add(entry)
          model.add(entry)
        }
      }

      expect(new Set(list.all())).toEqual(model)
      expect(list.all().map(({ slot }) => slot)).toEqual([...Array(model.size).keys()])
      expect(list.size()).toBe(model.size)
    }),
  )
})
