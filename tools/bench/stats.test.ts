import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { cpuBetween, processTree, readCpu } from './cpu.ts'
import { ratio } from './stats.ts'

test('the ratio is taken round by round, so that a slow round moves both peers', () => {
  const steady = ratio([10, 30, 10, 20, 10], [20, 60, 20, 40, 20])

  expect(steady).toEqual({ ratio: 0.5, low: 0.5, high: 0.5 })
})

test.skipIf(process.platform !== 'linux')('CPU time grows with work, and is read to well below a tick', () => {
  const before = readCpu(process.pid)
  const start = process.cpuUsage()
  const megabyte = Buffer.alloc(1_000_000)
  while (process.cpuUsage(start).user < 30_000) createHash('sha256').update(megabyte).digest()
  const spent = cpuBetween(before, readCpu(process.pid))

  expect(processTree(process.pid)[0]).toBe(process.pid)
  expect(spent).toBeGreaterThan(20e6)
})

test('time that an ended thread took with it is counted from ticks', () => {
  expect(cpuBetween({ liveNs: 0, ticksNs: 0 }, { liveNs: 1e9, ticksNs: 1.5e9 })).toBe(1.5e9)
  expect(cpuBetween({ liveNs: 0, ticksNs: 0 }, { liveNs: 1.004e9, ticksNs: 1.01e9 })).toBe(1.004e9)
})
