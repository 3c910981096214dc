/**
 * Compares latency at one rate for all: half of what the gateway can take, so that no peer is judged while it is
 * saturated.
 */
import { program } from '../../test/helpers/program.ts'
import { type Contender, resetContender } from './contender.ts'
import { connectionsFor, rateLoad } from './h2load.ts'
import type { Series } from './report.ts'
import { seriesOf } from './report.ts'
import { takeRounds } from './rounds.ts'
import type { Stage } from './stage.ts'
import { byRound, type Interval, median } from './stats.ts'
import { get } from './workload.ts'

export interface FixedRateReport {
  readonly requestsPerSecond: number
  readonly connections: number
  readonly series: readonly Series[]
  /** How many milliseconds more one takes than another for all but one of a hundred. */
  readonly p99: readonly P99Difference[]
  readonly problems: readonly string[]
}

export interface P99Difference extends Interval {
  readonly of: string
  readonly over: string
  /** The most milliseconds that are good enough; null where none is set. */
  readonly atMost: number | null
}

const ours = 'gateway'

/** Seconds of a turn that count: enough for a quantile, and each peer's turn takes a second more. */
const longest = 2

const compared: readonly Pick<P99Difference, 'over' | 'atMost'>[] = [
  { over: 'gateway-before', atMost: null },
  { over: 'bare', atMost: null },
  { over: 'caddy', atMost: null },
  { over: 'nginx', atMost: 3 },
  { over: 'haproxy', atMost: null },
  { over: 'httpxy', atMost: null },
]

/**
 * Measures GETs at the rate that --rate sets, or half of what the gateway served in `closed`, the loop that saturates;
 * null without either.
 */
export const measureAtRate = async (
  stage: Stage,
  contenders: readonly Contender[],
  closed: readonly Series[],
): Promise<FixedRateReport | null> => {
  const rate = stage.options.rate === 'half' ? halfOf(closed) : stage.options.rate
  if (rate === null || Number.isNaN(rate)) return null
  const h2load = await program('h2load')
  const connections = connectionsFor(rate)
  const nothing = { requestsPerSecond: rate, connections, series: [], p99: [] }
  if (h2load.missing !== null) return { ...nothing, problems: [h2load.missing] }
  const load = rateLoad(h2load.path, stage.directory, rate)
  // h2load sends at a rate with HTTP/1.1 here: what is measured over HTTP/2 would be another thing.
  const able = contenders.filter(({ problems, running }) => problems.length === 0 && running.speaks !== 'h2')
  const taking = able.map((each) => resetContender(each, { load, connections, problems: [] }))
  await takeRounds(taking, [get], load, { ...stage.options, seconds: Math.min(stage.options.seconds, longest) })
  const problems = taking.flatMap(({ name, problems: found, samples }) => [
    ...found.map((problem) => `${name}: ${problem}`),
    ...late(name, rate, samples.get(get.name)?.map((sample) => sample.steady?.rate ?? 0) ?? []),
  ])
  const right = taking.filter(({ name }) => !problems.some((problem) => problem.startsWith(`${name}: `)))
  return { ...nothing, series: seriesOf(taking, [get]), p99: differences(right), problems }
}

/** Returns the half of the requests a second that the gateway served, to the nearest hundred. */
const halfOf = (closed: readonly Series[]): number => {
  const samples = closed.find(({ workload, peer }) => workload === get.name && peer === ours)?.samples ?? []
  return Math.round(median(samples.map(({ served, seconds }) => served / seconds)) / 200) * 100
}

const late = (name: string, rate: number, rates: readonly number[]): readonly string[] =>
  median(rates) < 0.97 * rate ? [`${name}: only ${median(rates).toFixed(0)} of ${rate} requests/s went out`] : []

const differences = (contenders: readonly Contender[]): readonly P99Difference[] => {
  const p99 = (name: string): readonly number[] =>
    contenders
      .find((each) => each.name === name)
      ?.samples.get(get.name)
      ?.map(({ p99Ms }) => p99Ms) ?? []
  return compared
    .filter(({ over }) => p99(over).length > 0 && p99(ours).length > 0)
    .map((pair) => ({ of: ours, ...pair, ...byRound(p99(ours), p99(pair.over), (our, their) => our - their) }))
}
