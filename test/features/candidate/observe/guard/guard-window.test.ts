import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GuardWindow } from '../../../../../src/features/candidate/observe/guard/guard-window.ts'
import { reportOf, type SideEvents } from './side-events.ts'

const opened = (): GuardWindow => {
  const window = new GuardWindow(60_000)
  window.begin('era')
  return window
}

const candidateOf = (window: GuardWindow) => window.evidence.operations[0]?.candidate

test('a request counts for as long as the window', () => {
  const window = opened()
  window.add('one', reportOf([{ failed: 3, responded: 4 }]), 1000)
  window.advance(60_999)
  const during = candidateOf(window)
  const [requests, failed] = [during?.requests, during?.failed]
  window.advance(61_000)

  expect([[requests, failed], window.evidence.operations]).toEqual([[7, 3], []])
})

test('the waiting requests of a process are those of its last report', () => {
  const window = opened()
  window.add('one', reportOf([{ waiting: [5, 1000] }]), 1)
  window.add('two', reportOf([{ waiting: [2, 1000] }]), 1)
  window.add('one', reportOf([{ waiting: [4, 2000] }]), 2)
  expect(candidateOf(window)).toMatchObject({ timed: 6, requests: 0 })

  window.add('one', reportOf([{ responded: 4 }]), 3)
  expect(candidateOf(window)).toMatchObject({ timed: 6, requests: 4 })

  window.forget('two')
  expect(candidateOf(window)).toMatchObject({ timed: 4 })
})

test("another share restarts the window, and keeps the primary's past", () => {
  const window = opened()
  window.add('one', reportOf([{ failed: 3 }, { side: 'primary', responded: 90 }]), 1)
  window.begin('next')
  window.add('one', reportOf([{ failed: 5 }], 'era'), 3)
  window.add('one', reportOf([{ responded: 2 }], 'next'), 4)

  expect(candidateOf(window)).toMatchObject({ requests: 2, failed: 0 })
  expect(window.evidence.operations[0]).toMatchObject({ primary: { requests: 0 }, earlier: { requests: 90 } })
  expect(window.evidence.clients).toBe(1)
})

test('the last thirty windows with requests are kept', () => {
  const window = opened()
  for (let nth = 1; nth <= 40; nth++) {
    window.add('one', reportOf([{ side: 'primary', responded: 10 }]), nth * 60_000 + 1)
    window.advance(nth * 60_000 + 2)
  }
  window.advance(1e9)
  window.add('one', reportOf([{ responded: 1 }]), 1e9)

  expect(window.evidence.operations[0]?.earlier.requests).toBe(300)
})

test('the counts of cells add up to the totals', () => {
  const some: fc.Arbitrary<SideEvents> = fc.record({
    client: fc.integer({ min: 0, max: 255 }),
    failed: fc.nat(5),
    rejected: fc.nat(5),
    responded: fc.nat(5),
    slow: fc.tuple(fc.nat(5), fc.constantFrom(3, 400, 70_000)),
  })
  fc.assert(
    fc.property(fc.array(fc.array(some, { maxLength: 4 }), { maxLength: 12 }), (batches) => {
      const window = opened()
      for (const [nth, batch] of batches.entries()) window.add('one', reportOf(batch), nth * 10_000 + 1)
      window.advance(batches.length * 10_000)

      for (const { candidate, cells, slices } of window.evidence.operations)
        for (const parts of [[...cells().values()], slices()]) {
          for (const name of ['requests', 'failed', 'rejected', 'timed'] as const)
            expect(parts.reduce((sum, each) => sum + each[name], 0)).toBe(candidate[name])
        }
    }),
  )
})

test('waiting requests of another share are not subtracted from this one', () => {
  const window = opened()
  window.add('one', reportOf([{ waiting: [5, 1000] }]), 1)
  window.begin('next')
  window.add('one', reportOf([{ waiting: [2, 1000] }], 'next'), 2)

  expect(candidateOf(window)).toMatchObject({ timed: 2 })
})
