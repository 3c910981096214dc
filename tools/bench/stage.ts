/** Sets up what every run needs, and takes it down: a directory, the upstream, the load generator. */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addresses } from './addresses.ts'
import { type Contender, type PeerNote, startContender } from './contender.ts'
import { chooseLoad, type Load } from './load.ts'
import type { Options } from './options.ts'
import type { Peer } from './peers/peer.ts'
import { startSideServer } from './side-server.ts'
import type { Workload } from './workload.ts'

export interface Stage {
  readonly directory: string
  readonly load: Load
  readonly upstreamPort: number
  readonly options: Options
  /** Starts peers one after the other; those that are not on this machine or do not start are absent. */
  readonly startPeers: (peers: readonly Peer[], asked: readonly Workload[]) => Promise<StartedPeers>
  /** Registers what is done at the end, whatever happens. */
  readonly atEnd: (action: () => Promise<void>) => void
}

export interface StartedPeers {
  readonly contenders: readonly Contender[]
  readonly absent: readonly PeerNote[]
}

/**
 * Addresses beyond the usual ones, on which the upstream listens as well: `--reload` moves between two sets of fifty.
 */
const listened = [...addresses(50), ...addresses(50, 1), ...addresses(50, 2)]

/** Runs `action` on a stage of its own. */
export const withStage = async <Result>(
  options: Options,
  action: (stage: Stage) => Promise<Result>,
): Promise<Result> => {
  const directory = await mkdtemp(join(tmpdir(), 'bench-'))
  const stops: (() => Promise<void>)[] = []
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  try {
    const load = await chooseLoad(directory)
    const { port: upstreamPort, stop } = await startSideServer('upstream.ts', ...listened)
    stops.push(stop)
    const startPeers = async (peers: readonly Peer[], asked: readonly Workload[]): Promise<StartedPeers> => {
      const contenders: Contender[] = []
      const absent: PeerNote[] = []
      for (const peer of peers) {
        const found = await startContender(
          peer,
          { upstreamPort, directory: join(directory, peer.name), options },
          asked,
        )
        if ('running' in found) {
          contenders.push(found)
          stops.push(found.running.stop)
        } else absent.push(found)
      }
      return { contenders, absent }
    }
    return await action({ directory, load, upstreamPort, options, startPeers, atEnd: (each) => stops.push(each) })
  } finally {
    await Promise.all(stops.map((each) => each()))
  }
}
