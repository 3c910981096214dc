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
  /** What the gateway's CPU time per request is divided by. */
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

/** Sets what the project holds itself to, by peer: CPU time per request, the gateway's over the peer's. */
const targets: Readonly<Record<string, number>> = { bare: 0.6, 'bare-direct': 0.6 }

/** Names the machine as far as a ratio may depend on it. */
export const machine = (): string => {
  const [first] = cpus()
  return `${cpus().length} × ${first?.model.trim() ?? 'unknown processor'}, Linux ${release()}, Node ${process.version}`
}

/** Compares the gateway with every peer that was measured and whose answers were right. */
export const compare = (series: readonly Series[], peers: readonly PeerNote[]): readonly Comparison[] => {
  const counts = (name: string) => peers.some(({ peer, problems }) => peer === name && problems.length === 0)
  const cpu = ({ samples }: Series) => samples.map(({ cpuUs }) => cpuUs)
  return series
    .filter(({ peer }) => peer === 'gateway' && counts(peer))
    .flatMap((ours) =>
      series
        .filter(({ workload, peer }) => workload === ours.workload && peer !== 'gateway' && counts(peer))
        .map((theirs) => ({
          workload: ours.workload,
          over: theirs.peer,
          atMost: targets[theirs.peer] ?? null,
          ...ratio(cpu(ours), cpu(theirs)),
        })),
    )
}

/** Says whether a comparison meets its target: held when the whole interval does, open when only the median does. */
export const verdict = ({ ratio: middle, high, atMost }: Comparison): string => {
  if (atMost === null) return ''
  if (middle > atMost) return 'missed'
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
