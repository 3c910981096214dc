/**
 * Measures what each layer costs a request: a gateway with it against one that has nothing but an access log and is
 * sent the same, in processes of their own that take turns. That a layer is off, or on, is not believed but read: from
 * the list that the gateway composes, as `explain` shows it.
 */
import { type Contender, type PeerNote, resetContender, toPeerNote } from '../contender.ts'
import { ownLoad } from '../load.ts'
import { machine } from '../report.ts'
import { takeRounds } from '../rounds.ts'
import type { Stage } from '../stage.ts'
import { byRound, type Interval, median } from '../stats.ts'
import type { Workload } from '../workload.ts'
import { withCredentials } from './credentials.ts'
import { createLevelPeer } from './level-peer.ts'
import { type Level, toLevelId } from './levels.ts'

export interface LayersReport {
  readonly date: string
  readonly machine: string
  readonly load: string
  readonly rows: readonly LayerRow[]
  /** What could not be started. */
  readonly absent: readonly PeerNote[]
}

export interface LayerRow {
  readonly workload: string
  readonly name: string
  /** The level that it is compared with; null: others are compared with it. */
  readonly over: string | null
  /** The layers that are in the list of the operation, the outermost first. */
  readonly layers: readonly string[]
  readonly cpuUs: number
  /** What a request costs more than there, in µs; null where there is nothing to compare with. */
  readonly more: Interval | null
  readonly problems: readonly string[]
}

/** Measures levels in each round, with each workload. */
export const layers = async (
  stage: Stage,
  levels: readonly Level[],
  asked: readonly Workload[],
): Promise<LayersReport> => {
  const lists = new Map<string, readonly string[]>()
  const { contenders, absent } = await stage.startPeers(
    levels.map((level) => createLevelPeer(level, stage, lists)),
    asked,
  )
  const byLevel = new Map(
    levels.flatMap((level) => {
      const found = contenders.find(({ name }) => name === toLevelId(level))
      return found === undefined ? [] : [[level, laden(found, level, stage)] as const]
    }),
  )
  await takeRounds([...byLevel.values()], asked, stage.load, stage.options)
  const baseline = ({ over }: Level): Contender | null => [...byLevel].find(([{ name }]) => name === over)?.[1] ?? null
  const rows = asked.flatMap(({ name: workload }) =>
    [...byLevel].map(([level, contender]): LayerRow => {
      const { name, over } = level
      const [cpu, than] = [cpuOf(contender, workload), cpuOf(baseline(level), workload)]
      const more = cpu.length === 0 || than.length === 0 ? null : byRound(cpu, than, (our, their) => our - their)
      const { problems } = toPeerNote(contender)
      return { workload, name, over, layers: lists.get(toLevelId(level)) ?? [], cpuUs: median(cpu), more, problems }
    }),
  )
  const load = `${stage.load.name}; over TLS ${ownLoad.name}`
  return { date: new Date().toISOString(), machine: machine(), load, rows, absent }
}

/** Puts on a gateway the load of its level. */
const laden = (contender: Contender, { bring, tls }: Level, { load }: Stage): Contender =>
  resetContender(contender, { load: withCredentials(tls ? ownLoad : load, bring(contender.running.shows ?? null)) })

const cpuOf = (contender: Contender | null, workload: string): readonly number[] =>
  contender?.samples.get(workload)?.map(({ cpuUs }) => cpuUs) ?? []
