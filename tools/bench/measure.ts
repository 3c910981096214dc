/** Takes one peer's turn: load on it, and what it cost. */
import { createReadStream, statSync, truncateSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CpuReading, cpuBetween, readCpu } from './cpu.ts'
import { openIdle } from './idle.ts'
import type { Load, Turn, Watch } from './load.ts'
import { peakKiB, resetPeak } from './memory.ts'
import type { Running } from './process.ts'
import type { Workload } from './workload.ts'

export interface Sample extends Turn {
  /** User plus system time of the peer over requests served, in microseconds. */
  readonly cpuUs: number
  /** Share of one core that the peer used; well below 1 means that something else was the limit. */
  readonly cores: number
  /** Lines that reached the access log over requests served; 1 says that none was dropped. */
  readonly logLines: number
  /** Highest resident memory during the turn, all processes of the peer together. */
  readonly peakKiB: number
}

/** Long enough for blocks of log lines to be written and for the last responses to end. */
const settleMs = 700

/** Says how much load a turn puts on. */
export interface Effort {
  readonly seconds: number
  readonly connections: number
}

/** Runs one workload against one peer. The log is emptied first: it would fill the disk otherwise. */
export const measure = async (peer: Running, workload: Workload, load: Load, effort: Effort): Promise<Sample> => {
  if (peer.speaks !== 'http' && workload.idle > 0)
    throw new Error(`${workload.name}: idle connections are held without TLS only`)
  const idle = await openIdle(peer.port, workload, workload.idle)
  if (workload.idle > 0) await sleep(settleMs)
  truncateSync(peer.logFile)
  resetPeak(peer.pid)
  let begun = mark(peer.pid)
  let ended: Mark | null = null
  const watch: Watch = {
    begin: () => {
      begun = mark(peer.pid)
    },
    end: () => {
      ended = mark(peer.pid)
    },
  }
  const turn = await load.run(peer, workload, effort.seconds, effort.connections, watch)
  const over = performance.now()
  await settled(peer.logFile)
  // What a load without such a part leaves behind, lines that wait and responses on their way, is part of what it cost.
  const { cpu, at } = ended ?? { cpu: readCpu(peer.pid), at: over }
  const cpuNs = cpuBetween(begun.cpu, cpu)
  const peak = peakKiB(peer.pid)
  return {
    ...turn,
    failed: turn.failed + (await idle.close()),
    cpuUs: cpuNs / 1_000 / (turn.steady?.served ?? turn.served),
    cores: cpuNs / ((at - begun.at) * 1e6),
    logLines: (await countLines(peer.logFile)) / turn.served,
    peakKiB: peak,
  }
}

interface Mark {
  readonly cpu: CpuReading
  /** On the clock of `performance`. */
  readonly at: number
}

const mark = (pid: number): Mark => ({ cpu: readCpu(pid), at: performance.now() })

/** Waits until no lines come any more, at most ten times as long as it should take. */
const settled = async (file: string): Promise<void> => {
  for (let size = -1, tries = 0; size !== statSync(file).size && tries < 10; tries++) {
    size = statSync(file).size
    await sleep(settleMs)
  }
}

const countLines = async (file: string): Promise<number> => {
  let lines = 0
  if (statSync(file).size === 0) return 0
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
    const bytes: Buffer = chunk
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++
  }
  return lines
}
