import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { cpuBetween, processTree, readCpu } from './cpu.ts'
import { median, quantile, ratio } from './stats.ts'

test('the median of an even number of values is between the middle two', () => {
  expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([])]).toEqual([2, 2.5, Number.NaN])
})

test('a quantile is a value that occurred', () => {
  expect([quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.99), quantile([], 0.5)]).toEqual([2, 4, Number.NaN])
})

test('the ratio is taken round by round, so that a slow round moves both peers', () => {
  const steady = ratio([10, 30, 10, 20, 10], [20, 60, 20, 40, 20])

  expect(steady).toEqual({ ratio: 0.5, low: 0.5, high: 0.5 })
})

test('the interval of a ratio covers the rounds that disagree', () => {
  const { ratio: middle, low, high } = ratio([10, 11, 12, 13, 14], [20, 20, 20, 20, 20])

  expect(middle).toBe(0.6)
  expect(low).toBeLessThan(0.55)
  expect(high).toBeGreaterThan(0.65)
})

test.skipIf(process.platform !== 'linux')('CPU time grows with work, and is read to well below a tick', () => {
  const before = readCpu(process.pid)
  for (let round = 0; round < 200; round++) createHash('sha256').update(Buffer.alloc(1_000_000)).digest()
  const spent = cpuBetween(before, readCpu(process.pid))

  expect(processTree(process.pid)[0]).toBe(process.pid)
  expect(spent).toBeGreaterThan(20e6)
})

test('time that an ended thread took with it is counted from ticks', () => {
  expect(cpuBetween({ liveNs: 0, ticksNs: 0 }, { liveNs: 1e9, ticksNs: 1.5e9 })).toBe(1.5e9)
  expect(cpuBetween({ liveNs: 0, ticksNs: 0 }, { liveNs: 1.004e9, ticksNs: 1.01e9 })).toBe(1.004e9)
})
