/** Measures what a request costs the gateway as connections or endpoints grow. */
import { program } from '../../test/helpers/program.ts'
import { keyField, keyOf } from './clients.ts'
import { type Contender, type PeerNote, resetContender, toPeerNote } from './contender.ts'
import { rateLoad } from './h2load.ts'
import type { Load } from './load.ts'
import type { Options } from './options.ts'
import type { Pair } from './pairs.ts'
import { gateway, withClients, withEndpoints } from './peers/gateway.ts'
import { compare, machine, type Report, type Series, seriesOf } from './report.ts'
import { takeRounds } from './rounds.ts'
import type { Stage } from './stage.ts'
import { median } from './stats.ts'
import { type Fields, get } from './workload.ts'

const connectionCounts = [1, 16, 64, 256, 1_000]
const endpointCounts = [1, 3, 10, 50]
const clientCounts = [10, 10_000]

/** What the project holds itself to, from the cheapest to the dearest of a table. */
const atMost = 1.15

/** Runs one of the tables; every level takes its turn in each round. */
export const scale = async (stage: Stage, what: NonNullable<Options['scale']>): Promise<Report> =>
  what === 'endpoints' ? endpoints(stage) : what === 'clients' ? clients(stage) : connections(stage)

const endpoints = async (stage: Stage): Promise<Report> => {
  const { contenders, absent } = await stage.startPeers(endpointCounts.map(withEndpoints), [get])
  await takeRounds(contenders, [get], stage.load, stage.options)
  return conclude(stage, [contenders], absent)
}

/** Every client has its turn, with a key, an address and a rate of its own to be looked at. */
const clients = async (stage: Stage): Promise<Report> => {
  const keyed = (count: number): readonly Fields[] =>
    Array.from({ length: count }, (_, nth) => ({ [keyField]: keyOf(nth) }))
  const asked = { ...get, fields: { ...get.fields, [keyField]: keyOf(0) } }
  const { contenders, absent } = await stage.startPeers(clientCounts.map(withClients), [asked])
  const by = (load: Load, byTurns: readonly Fields[]): Load => ({
    name: load.name,
    run: (to, workload, ...more) => load.run(to, { ...workload, byTurns }, ...more),
  })
  const levels = contenders.map((each, nth) =>
    resetContender(each, { load: by(stage.load, keyed(clientCounts[nth] ?? 1)) }),
  )
  await takeRounds(levels, [asked], stage.load, stage.options)
  return conclude(stage, [levels], absent)
}

/**
 * Runs a closed loop, then one rate for all. A loop of one connection never finds two requests to do in one wake-up, so
 * that it pays more system calls a request by its nature; at one rate the work is the same, and the wake-ups differ
 * less.
 */
const connections = async (stage: Stage): Promise<Report> => {
  const { contenders, absent } = await stage.startPeers([gateway], [get])
  const loops = contenders.flatMap((each) =>
    connectionCounts.map((count) =>
      resetContender(each, { name: `${count} connection${count === 1 ? '' : 's'}`, connections: count }),
    ),
  )
  await takeRounds(loops, [get], stage.load, stage.options)
  const h2load = await program('h2load')
  if (h2load.missing !== null) return conclude(stage, [loops], [...absent, missing(h2load.missing)])
  const rate = typeof stage.options.rate === 'number' ? stage.options.rate : tenthOf(seriesOf(loops, [get]))
  const load = rateLoad(h2load.path, stage.directory, rate)
  const paced = loops.map((each) => resetContender(each, { name: `${each.name} at ${rate}/s`, load, problems: [] }))
  await takeRounds(paced, [get], load, stage.options)
  return conclude(stage, [loops, paced], absent)
}

const missing = (problem: string): PeerNote => ({ peer: 'at one rate', description: 'h2load', problems: [problem] })

/** Returns a tenth of the most requests a second that any level served: what one connection can carry as well. */
const tenthOf = (series: readonly Series[]): number => {
  const rates = series.map(({ samples }) => median(samples.map(({ served, seconds }) => served / seconds)))
  return Math.max(100, Math.round(Math.max(...rates) / 1_000) * 100)
}

const conclude = (
  { options, load }: Stage,
  tables: readonly (readonly Contender[])[],
  absent: readonly PeerNote[],
): Report => {
  const series = tables.map((contenders) => seriesOf(contenders, [get]))
  const peers = [...tables.flat().map(toPeerNote), ...absent]
  return {
    date: new Date().toISOString(),
    machine: machine(),
    load: load.name,
    options,
    peers,
    series: series.flat(),
    comparisons: compare(series.flat(), peers, series.flatMap(overCheapest)),
    atRate: null,
    idleMemory: [],
  }
}

const overCheapest = (series: readonly Series[]): readonly Pair[] => {
  const costs = series.map(({ peer, samples }) => ({ peer, cost: median(samples.map(({ cpuUs }) => cpuUs)) }))
  const [cheapest, ...others] = costs.sort((one, other) => one.cost - other.cost)
  if (cheapest === undefined) return []
  return others.map(({ peer }) => ({ of: peer, over: cheapest.peer, atMost: { [get.name]: atMost } }))
}
