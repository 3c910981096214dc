/**
 * Reads the memory of a process and of all that descends from it, on Linux. Pages that they share count once for each.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { processTree } from './cpu.ts'

/** Makes the peak begin anew: proc(5), clear_refs. */
export const resetPeak = (pid: number): void => {
  for (const id of processTree(pid)) {
    try {
      writeFileSync(`/proc/${id}/clear_refs`, '5')
    } catch {
      // It ended in between, or may not be read: the peak then is that of its life so far.
    }
  }
}

/** Sums the highest resident memory of each since `resetPeak`, in KiB: no less than the highest sum. */
export const peakKiB = (pid: number): number => total(pid, 'VmHWM')

/** Sums the resident memory now, in KiB. */
export const residentKiB = (pid: number): number => total(pid, 'VmRSS')

const total = (pid: number, key: string): number => processTree(pid).reduce((sum, id) => sum + ownKiB(id, key), 0)

/** Reads a figure of one process, without those that descend from it; 0: it has ended. */
export const ownKiB = (pid: number, key: string): number => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
  } catch {
    return 0
  }
}
