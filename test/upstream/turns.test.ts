import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Turns } from '../../src/upstream/turns.ts'

const turns = (maxRunning: number, maxWaiting: number) => {
  const ran: number[] = []
  return { ran, turns: new Turns<number, null>(maxRunning, maxWaiting, (key) => ran.push(key)) }
}

test('what there is room for runs at once, the rest in the order in which it came', () => {
  const { turns: line, ran } = turns(2, 2)

  for (const key of [1, 2, 3, 4]) line.enter(key, null)
  const early = [...ran]
  line.leave()
  line.leave()

  expect(early).toEqual([1, 2])
  expect(ran).toEqual([1, 2, 3, 4])
})

test('one more than may wait is refused, and told when to come again', () => {
  const { turns: line } = turns(1, 1)
  line.enter(1, null)
  line.enter(2, null)

  expect(line.full).toBe(true)
  expect(() => line.enter(3, null)).toThrow(
    expect.objectContaining({ kind: 'overloaded', fields: ['Retry-After', expect.stringMatching(/^[1-9]/)] }),
  )
})

test('what is withdrawn leaves its place to others at once', () => {
  const { turns: line, ran } = turns(1, 1)
  line.enter(1, null)
  line.enter(2, null)

  line.withdraw(2)
  line.enter(3, null)
  line.leave()

  expect(ran).toEqual([1, 3])
})

test('a long line of which each leaves as soon as it is let in is gone at once', () => {
  let ran = 0
  const line: Turns<number, null> = new Turns(1, 100_000, () => {
    if (ran++ > 0) line.leave()
  })
  for (let key = 0; key <= 100_000; key++) line.enter(key, null)

  line.leave()

  expect(ran).toBe(100_001)
  expect(line.full).toBe(false)
})

test('whatever comes, goes and gives up, no more run and no more wait than may', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 0, max: 4 }),
      fc.array(fc.constantFrom('enter', 'leave', 'withdraw'), { maxLength: 100 }),
      (maxRunning, maxWaiting, steps) => {
        const running = new Set<number>()
        const waiting: number[] = []
        const line = new Turns<number, null>(maxRunning, maxWaiting, (key) => {
          if (waiting[0] === key) waiting.shift()
          running.add(key)
        })
        for (const [key, step] of steps.entries()) {
          if (step === 'enter') {
            const full = running.size === maxRunning && waiting.length === maxWaiting
            expect(line.full).toBe(full)
            if (running.size === maxRunning && !full) waiting.push(key)
            if (full) expect(() => line.enter(key, null)).toThrow()
            else line.enter(key, null)
          }
          const [first] = running
          if (step === 'leave' && first !== undefined) {
            running.delete(first)
            line.leave()
          }
          const last = waiting.pop()
          if (step === 'withdraw' && last !== undefined) line.withdraw(last)
          else if (last !== undefined) waiting.push(last)

          expect(running.size).toBeLessThanOrEqual(maxRunning)
          expect(waiting.length).toBeLessThanOrEqual(maxWaiting)
          if (waiting.length > 0) expect(running.size).toBe(maxRunning)
        }
      },
    ),
  )
})
