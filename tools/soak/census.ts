/** Reads what a process holds: from outside what the kernel knows, over its inspector what the process knows. */
import { readdirSync, readlinkSync } from 'node:fs'
import { ownKiB } from '../bench/memory.ts'
import type { Inspector } from './inspector.ts'

/** Counts by kind: `socket`, `pipe`, `Timeout`, … */
export type Counts = Readonly<Record<string, number>>

/** What a process holds at one moment, after two collections. */
export interface Census {
  readonly heapBytes: number
  readonly externalBytes: number
  readonly residentKiB: number
  /** Of it, what no file stands behind. */
  readonly anonymousKiB: number
  readonly descriptors: Counts
  /** What keeps its loop alive: sockets, servers, timers. */
  readonly resources: Counts
}

/** Takes the census of a process. */
export const takeCensus = async (pid: number, inspector: Inspector): Promise<Census> => {
  await inspector.collect()
  const { heapUsed, external } = await inspector.evaluate<NodeJS.MemoryUsage>('process.memoryUsage()')
  const resources = await inspector.evaluate<readonly string[]>('process.getActiveResourcesInfo()')
  return {
    heapBytes: heapUsed,
    externalBytes: external,
    residentKiB: ownKiB(pid, 'VmRSS'),
    anonymousKiB: ownKiB(pid, 'RssAnon'),
    descriptors: count(descriptors(pid)),
    resources: count(resources),
  }
}

/** Lists what each open descriptor of a process is. */
const descriptors = (pid: number): readonly string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`).replace(/:\[?\d+\]?$/, '')]
    } catch {
      return [] // closed in between
    }
  })

/** Counts how often each name is there. */
export const count = (names: readonly string[]): Counts => {
  const counts: Record<string, number> = {}
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** Names what differs between two counts, as `socket 9 → 12`; empty: nothing. */
export const differences = (before: Counts, after: Counts): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => (before[name] ?? 0) !== (after[name] ?? 0))
    .map((name) => `${name} ${before[name] ?? 0} → ${after[name] ?? 0}`)
