import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type ByteLog,
  createByteLog,
  createLogMemory,
  type LogMemory,
  positionOf,
} from '../../../../../src/features/idempotency/store/memory/byte-log.ts'

const fill = (memory: LogMemory, place: number, byte: number): void => {
  const from = positionOf(place)
  memory.memoryOf(place).fill(byte, from, from + memory.lengthOf(place))
}

const isFilledWith = (memory: LogMemory, place: number, byte: number): boolean => {
  const from = positionOf(place)
  return memory
    .memoryOf(place)
    .subarray(from, from + memory.lengthOf(place))
    .every((each) => each === byte)
}

const listPlaces = (log: ByteLog): readonly number[] => {
  const places: number[] = []
  for (let place = log.first(); place !== null; place = log.next(place)) places.push(place)
  return places
}

test('entries stay as they were written, in their order, whatever is added and removed', () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ log: fc.nat(1), add: fc.constantFrom(0, 1, 30, 100, 240, 600, 1200) }) },
    { weight: 2, arbitrary: fc.record({ log: fc.nat(1), remove: fc.nat(1000) }) },
  )

  let moved = 0
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const memory = createLogMemory(1024)
      const expected: { place: number; byte: number }[][] = [[], []]
      const logs = expected.map((own) =>
        createByteLog(memory, (from, to) => {
          moved++
          for (const entry of own.filter(({ place }) => place === from)) entry.place = to
        }),
      )
      for (const [nth, each] of steps.entries()) {
        const log = logs[each.log] as ByteLog
        const own = expected[each.log] ?? []
        if ('add' in each) {
          const place = log.add(each.add)
          expect(memory.lengthOf(place)).toBe(each.add)
          fill(memory, place, nth) // no more steps than a byte has values
          own.push({ place, byte: nth })
        } else if (own.length > 0) {
          const [removed] = own.splice(each.remove % own.length, 1)
          log.remove(removed?.place ?? 0)
        }
        expect(listPlaces(log)).toEqual(own.map(({ place }) => place))
      }
      for (const { place, byte } of expected.flat()) expect(isFilledWith(memory, place, byte)).toBe(true)
    }),
    { numRuns: 50 },
  )

  expect(moved).toBeGreaterThan(0)
})

test('what was removed gives its memory back', () => {
  const memory = createLogMemory()
  const log = createByteLog(memory, () => {})
  const places = Array.from({ length: 100 }, () => log.add(100_000))

  for (const place of places.slice(0, 90)) log.remove(place)

  // Two of them fill one piece.
  expect(memory.segments.size).toBe(5)
  log.close()
  expect([memory.segments.size, log.first()]).toEqual([0, null])
})

test('an entry that stays keeps no other piece of memory', () => {
  const memory = createLogMemory()
  const log = createByteLog(memory, () => {})

  log.add(1000)
  for (let nth = 0; nth < 10_000; nth++) log.remove(log.add(1000))

  // Its own, and the last one.
  expect(memory.segments.size).toBe(2)
})

test('entries that stay, one in each piece of memory, are moved together', () => {
  const memory = createLogMemory()
  const log = createByteLog(memory, () => {})

  for (let nth = 0; nth < 50_000; nth++) {
    const place = log.add(1000)
    if (nth % 300 !== 0) log.remove(place)
  }

  // A log of all has 192. 130 of the 167 entries are half of the first one.
  expect(memory.segments.size).toBeLessThanOrEqual(4)
  expect(listPlaces(log)).toHaveLength(167)
})

test('one place of memory serves a log with one entry at a time', () => {
  const memory = createLogMemory()
  const log = createByteLog(memory, () => {})

  for (let nth = 0; nth < 10_000; nth++) log.remove(log.add(1000))

  expect(memory.segments.size).toBe(1)
})
