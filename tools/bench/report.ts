/** Turns samples into what is compared. */
import { cpus, release } from 'node:os'
import type { Contender, PeerNote } from './contender.ts'
import type { FixedRateReport } from './fixed-rate.ts'
import type { IdleMemory } from './idle-memory.ts'
import type { Sample } from './measure.ts'
import type { Options } from './options.ts'
import type { Pair } from './pairs.ts'
import { median, type Ratio, ratio } from './stats.ts'
import type { Workload } from './workload.ts'

/** Holds what was measured of one peer under one workload, one sample a round. */
export interface Series {
  readonly workload: string
  readonly peer: string
  readonly samples: readonly Sample[]
}

export interface Comparison extends Ratio {
  readonly workload: string
  /** Whose CPU time per request … */
  readonly of: string
  /** … is divided by whose. */
  readonly over: string
  /** The largest ratio that is good enough; null where none is set. */
  readonly atMost: number | null
}

export interface Report {
  readonly date: string
  readonly machine: string
  readonly load: string
  readonly options: Options
  readonly peers: readonly PeerNote[]
  readonly series: readonly Series[]
  readonly comparisons: readonly Comparison[]
  /** Latency at one rate for all; null when it was not asked for or could not be measured. */
  readonly atRate: FixedRateReport | null
  /** What idle connections take; empty when it was not asked for. */
  readonly idleMemory: readonly IdleMemory[]
}

/** Names the machine as far as a ratio may depend on it. */
export const machine = (): string => {
  const [first] = cpus()
  return `${cpus().length} × ${first?.model.trim() ?? 'unknown processor'}, Linux ${release()}, Node ${process.version}`
}

/** Lists what was measured of each peer under each workload. */
export const seriesOf = (contenders: readonly Contender[], asked: readonly Workload[]): readonly Series[] =>
  asked.flatMap(({ name: workload }) =>
    contenders.flatMap(({ name: peer, samples }): readonly Series[] => {
      const taken = samples.get(workload)
      return taken === undefined ? [] : [{ workload, peer, samples: taken }]
    }),
  )

/** Compares the peers of each pair that were measured and whose responses were right. */
export const compare = (
  series: readonly Series[],
  peers: readonly PeerNote[],
  pairs: readonly Pair[],
): readonly Comparison[] => {
  const counts = (name: string) => peers.some(({ peer, problems }) => peer === name && problems.length === 0)
  const cpu = (workload: string, name: string) =>
    series.find((each) => each.workload === workload && each.peer === name)?.samples.map(({ cpuUs }) => cpuUs)
  return [...new Set(series.map(({ workload }) => workload))].flatMap((workload) =>
    pairs.flatMap(({ of, over, atMost }): readonly Comparison[] => {
      const [ours, theirs] = [cpu(workload, of), cpu(workload, over)]
      if (ours === undefined || theirs === undefined || !counts(of) || !counts(over)) return []
      return [{ workload, of, over, atMost: atMost[workload] ?? null, ...ratio(ours, theirs) }]
    }),
  )
}

/** A figure with its interval and the largest value that is good enough. */
export interface TargetFigure {
  readonly middle: number
  readonly low: number
  readonly high: number
  readonly atMost: number | null
}

/**
 * Says whether a comparison meets its target: the whole of its interval, its median, its lower end, or nothing of it.
 */
export const verdict = ({ middle, low, high, atMost }: TargetFigure): string => {
  if (atMost === null) return ''
  if (low > atMost) return 'missed'
  if (middle > atMost) return 'held by the lower end only'
  return high <= atMost ? 'held' : 'held by the median only'
}

export interface FigureSpread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Sums up one figure over the rounds. */
export const spread = (samples: readonly Sample[], figure: (sample: Sample) => number): FigureSpread => {
  const values = samples.map(figure)
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}
