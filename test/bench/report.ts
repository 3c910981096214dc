/** Turns samples into what is compared. */
import { cpus, release } from 'node:os'
import type { Sample } from './measure.ts'
import type { Options } from './options.ts'
import { median, type Ratio, ratio } from './stats.ts'

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

export interface PeerNote {
  readonly peer: string
  readonly description: string
  /** Why it was not measured, or why its figures do not count; empty for a peer that is compared. */
  readonly problems: readonly string[]
}

export interface Report {
  readonly date: string
  readonly machine: string
  readonly load: string
  readonly options: Options
  readonly peers: readonly PeerNote[]
  readonly series: readonly Series[]
  readonly comparisons: readonly Comparison[]
}

interface Pair {
  readonly of: string
  readonly over: string
  /** What the project holds itself to: the largest ratio that is good enough. */
  readonly atMost: number | null
}

const pairs: readonly Pair[] = [
  { of: 'gateway', over: 'bare', atMost: 0.6 },
  { of: 'gateway', over: 'bare-direct', atMost: 0.6 },
  { of: 'gateway', over: 'nginx', atMost: null },
  { of: 'gateway', over: 'haproxy', atMost: null },
  { of: 'gateway', over: 'gateway-before', atMost: null },
  { of: 'gateway-policies', over: 'gateway', atMost: 1.05 },
]

/** Names the machine as far as a ratio may depend on it. */
export const machine = (): string => {
  const [first] = cpus()
  return `${cpus().length} × ${first?.model.trim() ?? 'unknown processor'}, Linux ${release()}, Node ${process.version}`
}

/** Compares the peers of each pair that were measured and whose answers were right. */
export const compare = (series: readonly Series[], peers: readonly PeerNote[]): readonly Comparison[] => {
  const counts = (name: string) => peers.some(({ peer, problems }) => peer === name && problems.length === 0)
  const cpu = (workload: string, name: string) =>
    series.find((each) => each.workload === workload && each.peer === name)?.samples.map(({ cpuUs }) => cpuUs)
  return [...new Set(series.map(({ workload }) => workload))].flatMap((workload) =>
    pairs.flatMap((pair): readonly Comparison[] => {
      const [ours, theirs] = [cpu(workload, pair.of), cpu(workload, pair.over)]
      if (ours === undefined || theirs === undefined || !counts(pair.of) || !counts(pair.over)) return []
      return [{ workload, ...pair, ...ratio(ours, theirs) }]
    }),
  )
}

/** Says whether a comparison meets its target: the whole of its interval, its median, its lower end, or nothing of it. */
export const verdict = ({ ratio: middle, low, high, atMost }: Comparison): string => {
  if (atMost === null) return ''
  if (low > atMost) return 'missed'
  if (middle > atMost) return 'held by the lower end only'
  return high <= atMost ? 'held' : 'held by the median only'
}

export interface Line {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Sums up one figure over the rounds. */
export const spread = (samples: readonly Sample[], figure: (sample: Sample) => number): Line => {
  const values = samples.map(figure)
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}
