/**
 * Tells what each layer costs a request: a gateway with it against one that has nothing but an access log, in processes of their own that take turns.
 * That a layer is off, or on, is not believed but read: from the list that the gateway composes, as `explain` shows it.
 */
import { writeFileSync } from 'node:fs'
import { loadConfig } from '../../src/config/load.ts'
import { noAuditor } from '../../src/observe/audit/auditor.ts'
import { Limiters } from '../../src/shared/limiter/limiters.ts'
import { holdClientLimits } from '../../src/snapshot/client-limits.ts'
import { guardOf } from '../../src/snapshot/guard.ts'
import { noPressure } from '../../src/snapshot/pressure.ts'
import { stackRows } from '../../src/snapshot/stack.ts'
import { TokenSources } from '../../src/snapshot/token-sources.ts'
import { addresses } from './addresses.ts'
import { clientsText, keyField, keyOf } from './clients.ts'
import { type Contender, noteOf } from './contender.ts'
import { behindEach, gatewayFile } from './peers/gateway.ts'
import { here, serveTree } from './peers/gateway-tree.ts'
import type { Peer } from './peers/peer.ts'
import { machine } from './report.ts'
import { takeRounds } from './rounds.ts'
import type { Stage } from './stage.ts'
import { byRound, type Interval, median } from './stats.ts'
import { table } from './table.ts'
import { get, type Workload, workloads } from './workload.ts'

/** Is a gateway with one thing on, in the words of the file. */
interface Level {
  readonly name: string
  /** What stands in the file instead of what turns it off. */
  readonly on: Partial<Switches>
}

/** Is all that can be turned off, as the file writes it. The access log stays on: by it is seen that each request was served. */
interface Switches {
  readonly eventLoopDelay: string
  readonly concurrency: string
  readonly upstreamConcurrency: string
  readonly address: string
  readonly auth: string
  readonly clientRate: string
  readonly maxBody: string
  readonly deadline: string
  readonly retry: string
  readonly access: string
  /** DIRECTORY stands for one of the gateway's own. */
  readonly audit: string
  readonly requestId: string
}

const off: Switches = {
  eventLoopDelay: 'none',
  concurrency: 'none',
  upstreamConcurrency: 'none',
  address: 'none',
  auth: 'none',
  clientRate: '',
  maxBody: 'none',
  deadline: 'none',
  retry: 'none',
  access: 'true',
  audit: 'none',
  requestId: 'none',
}

const audited = '{ file: DIRECTORY/audit.log, key: file:DIRECTORY/audit-key }'
const keyed = '{ methods: [apiKey] }'

const levels: readonly Level[] = [
  { name: 'nothing', on: {} },
  { name: 'load-shedding', on: { eventLoopDelay: '1m' } },
  { name: 'concurrency', on: { concurrency: '10000' } },
  { name: 'all three bounds of concurrency', on: { concurrency: '10000', upstreamConcurrency: '10000' } },
  // So much that nobody is refused: what is measured is the counting.
  { name: 'address-limit', on: { address: '{ rate: 1000000/s, burst: 1000000 }' } },
  { name: 'auth by apiKey', on: { auth: keyed } },
  { name: 'auth by apiKey and client-limit', on: { auth: keyed, clientRate: ', rate: 1000000/s, burst: 1000000' } },
  { name: 'body-limit', on: { maxBody: '64MiB' } },
  { name: 'deadline', on: { deadline: '30s' } },
  { name: 'retry', on: { retry: '{ }' } },
  { name: 'audit', on: { audit: audited } },
  { name: 'audit with digests', on: { audit: `${audited.slice(0, -1)}, digests: both }` } },
  { name: 'no access log', on: { access: 'false' } },
  { name: 'request id', on: { requestId: 'X-Request-Id' } },
  {
    name: 'the defaults',
    on: { concurrency: '10000', maxBody: '64MiB', deadline: '30s', requestId: 'X-Request-Id' },
  },
]

export interface LayersReport {
  readonly date: string
  readonly machine: string
  readonly load: string
  readonly rows: readonly Row[]
}

interface Row {
  readonly workload: string
  readonly name: string
  /** The layers that are in the list of the operation, the outermost first. */
  readonly layers: readonly string[]
  readonly cpuUs: number
  /** What a request costs more than with nothing on, in µs; null for that one. */
  readonly more: Interval | null
  readonly problems: readonly string[]
}

/** Measures each level in each round, with a GET and with a small POST. */
export const layers = async (stage: Stage): Promise<LayersReport> => {
  // Everybody gets the key, those that do not look at it as well: what is sent is the same.
  const asked = workloads
    .filter(({ name }) => name === 'get' || name === 'post')
    .map((each) => ({ ...each, fields: { ...each.fields, [keyField]: keyOf(0) } }))
  const lists = new Map<string, readonly string[]>()
  const { contenders } = await stage.invite(
    levels.map((level) => peerOf(level, lists)),
    asked,
  )
  await takeRounds(contenders, asked, stage.load, stage.options)
  const [nothing] = contenders
  const rows = asked.flatMap((workload) => contenders.map((each) => rowOf(each, nothing, workload, lists)))
  return { date: new Date().toISOString(), machine: machine(), load: stage.load.name, rows }
}

const peerOf = ({ name, on }: Level, lists: Map<string, readonly string[]>): Peer => ({
  name: name.replaceAll(' ', '-'),
  description: name,
  onRequest: false,
  quiet: on.access === 'false',
  start: async (site) => {
    const audit = (on.audit ?? off.audit).replaceAll('DIRECTORY', site.directory)
    writeFileSync(`${site.directory}/audit-key`, 'k'.repeat(32))
    const text = (port: number): string => fileOf({ ...off, ...on, audit }, port, site.upstreamPort)
    const running = await serveTree(here, site, text)
    lists.set(name.replaceAll(' ', '-'), listed(`${site.directory}/gateway.yaml`))
    return running
  },
})

const { apiKeys } = JSON.parse(clientsText(1))[0]
const shownKey: string = JSON.stringify(apiKeys[0])

const fileOf = (
  {
    eventLoopDelay,
    concurrency,
    upstreamConcurrency,
    address,
    auth,
    clientRate,
    maxBody,
    deadline,
    retry,
    access,
    audit,
    requestId,
  }: Switches,
  port: number,
  upstreamPort: number,
): string => `${gatewayFile(port)}requestId: { header: ${requestId} }
log: { access: ${access} }
audit: ${audit}
limits: { concurrency: ${concurrency}, address: ${address}, eventLoopDelay: ${eventLoopDelay} }
auth: ${auth}
${auth === 'none' ? '' : `clients: [{ id: a, operations: all, apiKeys: [${shownKey}]${clientRate} }]\n`}defaults: { concurrency: ${upstreamConcurrency}, maxBody: ${maxBody}, deadline: ${deadline}, retry: ${retry} }
operations:
  analysis.esg-grant: { auth: none }
  ${get.operation.id}: { concurrency: ${upstreamConcurrency} }
${behindEach(addresses(1), upstreamPort)}`

/** Reads from the file that it runs which layers stand in the list. */
const listed = (file: string): readonly string[] => {
  const loaded = loadConfig(file, {})
  if (!loaded.ok) throw new Error(`${file}: ${JSON.stringify(loaded.problems)}`)
  const { operations, upstreams, limits, auth, clients } = loaded.config
  const { operation } = get
  const rows = stackRows({
    operation,
    limits,
    auth,
    config: operations[operation.id],
    upstream: upstreams[operation.group],
    budget: null,
    addressLimiter: null,
    guard: guardOf(loaded.config, new TokenSources(() => {}), new Limiters({ is: 'alone' }, () => {})),
    clientLimits: holdClientLimits(clients, limits, new Limiters({ is: 'primary' }, () => {})),
    pressure: noPressure(),
    audit: loaded.config.audit,
    auditor: noAuditor,
  })
  return rows.filter(({ layer }) => layer !== null).map(({ name }) => name)
}

const rowOf = (
  contender: Contender,
  nothing: Contender | undefined,
  { name: workload }: Workload,
  lists: ReadonlyMap<string, readonly string[]>,
): Row => {
  const cpu = (of: Contender | undefined): readonly number[] =>
    of?.samples.get(workload)?.map(({ cpuUs }) => cpuUs) ?? []
  const more = contender === nothing ? null : byRound(cpu(contender), cpu(nothing), (our, their) => our - their)
  const { description, problems } = noteOf(contender)
  return {
    workload,
    name: description,
    layers: lists.get(contender.name) ?? [],
    cpuUs: median(cpu(contender)),
    more,
    problems,
  }
}

/** Writes the table. */
export const renderLayers = ({ date, machine: where, load, rows }: LayersReport): string => {
  const cells = rows.map(({ workload, name, layers: list, cpuUs, more }) => [
    workload,
    name,
    list.length === 0 ? '(none)' : list.join(', '),
    cpuUs.toFixed(1),
    more === null ? '' : `${signed(more.middle)} (${signed(more.low)} to ${signed(more.high)})`,
  ])
  const problems = [...new Set(rows.flatMap(({ name, problems: found }) => found.map((each) => `${name}: ${each}`)))]
  return [
    `${date}; ${where}; ${load}`,
    table(['workload', 'what is on', 'layers in the list', 'CPU µs', 'more than nothing, 95 %'], cells, 3),
    ...problems,
  ].join('\n\n')
}

const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(1)}`
