/** Starts a peer and checks its responses before it may take part. */
import { mkdir } from 'node:fs/promises'
import { streamsLoad } from './h2load.ts'
import type { Load } from './load.ts'
import type { Sample } from './measure.ts'
import type { Peer, Site } from './peers/peer.ts'
import type { Running } from './process.ts'
import { verify } from './verify.ts'
import type { Workload } from './workload.ts'

/** Holds a peer that serves, with what was found wrong about it and what was measured so far. */
export interface Contender {
  readonly name: string
  readonly description: string
  readonly running: Running
  readonly problems: string[]
  /** By the name of the workload. */
  readonly samples: Map<string, Sample[]>
  /** What puts load on it; null is the default. */
  readonly load: Load | null
  /** Connections that are busy; null is as many as the workload says. */
  readonly connections: number | null
  /** Whether no line of its log is due. */
  readonly quiet: boolean
}

/**
 * Says what a peer is, and why it was not measured or why its figures do not count; no problem for a peer that is
 * compared.
 */
export interface PeerNote {
  readonly peer: string
  readonly description: string
  readonly problems: readonly string[]
}

/** Starts a peer in a directory of its own, and checks that it does what it is measured for. */
export const startContender = async (
  peer: Peer,
  site: Site,
  asked: readonly Workload[],
): Promise<Contender | PeerNote> => {
  const { name, description, quiet = false } = peer
  const note = (problem: string): PeerNote => ({ peer: name, description, problems: [problem] })
  await mkdir(site.directory)
  try {
    const running = await peer.start(site)
    if ('missing' in running) return note(running.missing)
    const load = running.speaks === 'h2' ? await streamsLoad(site.directory) : null
    const problems = await verify(running, asked, quiet, peer.brings?.(running)).catch((error: unknown) => [
      String(error),
    ])
    return {
      name,
      description,
      running,
      problems: [...problems],
      samples: new Map(),
      load,
      connections: null,
      quiet,
    }
  } catch (error) {
    return note(String(error))
  }
}

export const toPeerNote = ({ name, description, problems }: Contender): PeerNote => ({
  peer: name,
  description,
  problems,
})

/** Makes a contender of the same process anew: nothing measured, and the problems that it has by now. */
export const resetContender = (contender: Contender, change: Partial<Contender> = {}): Contender => ({
  ...contender,
  samples: new Map(),
  problems: [...contender.problems],
  ...change,
})
