/** Measures what an idle keep-alive connection takes of each peer's memory. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openIdle } from './idle.ts'
import { residentKiB } from './memory.ts'
import type { Peer } from './peers/peer.ts'
import type { Stage } from './stage.ts'
import { get } from './workload.ts'

export interface IdleMemory {
  readonly peer: string
  readonly connections: number
  /** Resident memory that came with them, a connection: one figure for each process that was started for it. */
  readonly kibEach: readonly number[]
  /** Connections that the peer closed before they were counted. */
  readonly closed: number
  /** The most KiB each that are good enough; null where none is set. */
  readonly atMost: number | null
}

/** What the project holds itself to. */
const atMostKib = 25

/** Processes started for each peer. */
const starts = 3
/** Long enough for what the load left behind to be collected by itself, and less than any keep-alive timeout. */
const settleMs = 2_000

/**
 * Opens idle connections to a fresh process of each peer that has served a second of load, and reads its memory before
 * and after. Fresh, because memory that an earlier turn left free would be taken first, and would hide what they cost.
 */
export const idleMemory = async (stage: Stage, peers: readonly Peer[]): Promise<readonly IdleMemory[]> => {
  const taken = new Map<string, IdleMemory>()
  for (let turn = 0; turn < starts; turn++) {
    for (const peer of peers) {
      const found = await once(stage, peer, turn)
      if (found === null) continue
      const { kibEach = [], closed = 0 } = taken.get(peer.name) ?? {}
      const connections = stage.options.idle
      const all = [...kibEach, found.kib]
      const atMost = peer.name === 'gateway' ? atMostKib : null
      taken.set(peer.name, { peer: peer.name, connections, kibEach: all, closed: closed + found.closed, atMost })
      console.error(`idle memory ${peer.name}: ${found.kib.toFixed(1)} KiB a connection`)
    }
  }
  return [...taken.values()]
}

const once = async (stage: Stage, peer: Peer, turn: number) => {
  const directory = join(stage.directory, `${peer.name}-idle-${turn}`)
  await mkdir(directory)
  const options = { ...stage.options, profile: false, perf: false }
  const running = await peer.start({ upstreamPort: stage.upstreamPort, directory, options })
  if ('missing' in running) return null
  try {
    await stage.load.run(running, get, 1, 64)
    await sleep(settleMs)
    const before = residentKiB(running.pid)
    const idle = await openIdle(running.port, get, stage.options.idle)
    await sleep(settleMs)
    const kib = (residentKiB(running.pid) - before) / stage.options.idle
    return { kib, closed: await idle.close() }
  } finally {
    await running.stop()
  }
}
