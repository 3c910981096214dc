/** Compares the gateway with the other peers: what the bench is for. */
import { toPeerNote } from './contender.ts'
import { measureAtRate } from './fixed-rate.ts'
import { idleMemory } from './idle-memory.ts'
import { pairs } from './pairs.ts'
import { peers } from './peers/all.ts'
import type { Peer } from './peers/peer.ts'
import { compare, machine, type Report, seriesOf } from './report.ts'
import { takeRounds } from './rounds.ts'
import type { Stage } from './stage.ts'
import { get, type Workload } from './workload.ts'

/** Runs the rounds that saturate, then those at a fixed rate, then what needs processes of its own. */
export const comparison = async (
  stage: Stage,
  chosen: readonly Peer[],
  asked: readonly Workload[],
): Promise<Report> => {
  const { options, load } = stage
  const { contenders, absent } = await stage.startPeers(chosen, asked)
  await takeRounds(contenders, asked, load, options)
  const series = seriesOf(contenders, asked)
  const rated = asked.includes(get) ? await measureAtRate(stage, contenders, series) : null
  const right = contenders.filter(({ problems }) => problems.length === 0)
  const idle = asked.some((workload) => workload.idle > 0)
    ? await idleMemory(
        stage,
        chosen.filter(({ name }) => right.some((each) => each.name === name)),
      )
    : []
  const notes = [...contenders.map(toPeerNote), ...absent]
  const inOrder = peers.flatMap(({ name }) => notes.filter(({ peer }) => peer === name))
  return {
    date: new Date().toISOString(),
    machine: machine(),
    load: load.name,
    options,
    peers: inOrder,
    series,
    comparisons: compare(series, inOrder, pairs),
    atRate: rated,
    idleMemory: idle,
  }
}
