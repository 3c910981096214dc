import type { Operation } from '../../catalog.ts'
import type { Config, EndpointConfig, FieldEdits, UpstreamConfig } from '../../config/config.ts'
import type { Origin, Origins } from '../../config/origins.ts'
import { effective } from '../../config/report.ts'
import { noAuditor } from '../../observe/audit/line.ts'
import { Meter } from '../../observe/metrics/meter.ts'
import { Limiters } from '../../shared/limiter/limiters.ts'
import { noCaches } from '../../snapshot/caches.ts'
import { holdClientLimits } from '../../snapshot/client-limits.ts'
import { noGuard } from '../../snapshot/guard.ts'
import { noPressure } from '../../snapshot/pressure.ts'
import { type StackRow, stackRows } from '../../snapshot/stack.ts'
import { everywhereRows, flat, partOf, type Rows, type Tree } from './everywhere.ts'

/** Is one setting that holds for a request: where the file would say it, what it is, and who said so. */
export interface Setting {
  /** The key path: `upstreams.risk.timeouts.connect`. */
  readonly key: string
  readonly value: string
  readonly origin: Origin
}

/** Is an endpoint with its share of the traffic and what it is asked for. */
export interface Share {
  /** The URL that is asked for, without the query; `sandbox` for the embedded one. */
  readonly url: string
  readonly pathPrefix: string
  readonly weight: number
  /** Whether the file has it take no new work. */
  readonly drain: boolean
  readonly percent: number
  /** The most that it gets by being less loaded than the others, while all of them are up. */
  readonly mostPercent: number
  readonly sandbox: boolean
  readonly origin: Origin
}

/** Is a layer in its place, outermost first. */
export interface LayerShown extends Omit<StackRow, 'layer' | 'setting'>, Setting {
  readonly on: boolean
}

/** Is one change to the fields of each request or answer; what it sets is shown only when it is no secret. */
export interface FieldChange extends Setting {
  /** `request.set X-Api-Key`. */
  readonly what: string
}

/** Is everything that stands behind one operation, and what holds for all nine. */
export interface Behind {
  readonly endpoints: readonly Share[]
  /** What a weight is, by the way in which the upstream balances; null: there is nothing to share. */
  readonly weightMeans: string | null
  readonly fields: readonly FieldChange[]
  readonly upstream: readonly Setting[]
  readonly operation: readonly Setting[]
  readonly layers: readonly LayerShown[]
  readonly everywhere: readonly Setting[]
}

/** Collects what holds for an operation, each value with the level that won. */
export const behind = (described: Operation, config: Config, origins: Origins): Behind => {
  const { id, path, group } = described
  const setting = (key: string, value: string): Setting => ({ key, value, origin: origins.get(key) ?? builtIn })
  const upstream = config.upstreams[group]
  const operation = config.operations[id]
  const own = `upstreams.${group}`
  const tree = effective(config)
  return {
    endpoints: shares(upstream, path, setting(`${own}.endpoints`, '').origin),
    weightMeans: upstream.endpoints.length > 1 ? weightMeans[upstream.balance] : null,
    fields: [...fieldRows('request', upstream.request), ...fieldRows('response', upstream.response)].map(
      ([direction, what, value]) => ({ ...setting(`${own}.${direction}`, value), what: `${direction}.${what}` }),
    ),
    upstream: upstreamRows(upstream, partOf(tree, 'upstreams', group)).map(([key, value]) =>
      setting(`${own}.${key}`, value),
    ),
    operation: [
      setting(`operations.${id}.state`, operation.state),
      setting(`operations.${id}.idempotent`, String(operation.idempotent)),
    ],
    layers: layersOf(
      stackRows({
        operation: described,
        config,
        budget: null,
        addressLimiter: null,
        guard: noGuard,
        clientLimits: holdClientLimits(config.clients, config.limits, new Limiters({ is: 'primary' }, () => {})),
        pressure: noPressure(),
        traces: null,
        meter: new Meter(),
        auditor: noAuditor,
        caches: noCaches(config),
      }),
      operation.state,
      (key, value) =>
        key === 'cache' && operation.cache !== null
          ? setting(`operations.${id}.cache`, cacheText(partOf(tree, 'operations', id, 'cache')))
          : setting(key.includes('.') ? key : `operations.${id}.${key}`, value),
    ),
    everywhere: everywhereRows(config, tree).map(([key, value]) => setting(key, value)),
  }
}

const builtIn: Origin = { source: 'built-in', line: 0, column: 0 }

const twice = 'one that is less loaded gets up to twice it, one that fails no more than it'

/** Says what a weight is under each policy (docs/upstreams.md, "Choosing"). */
const weightMeans: Readonly<Record<UpstreamConfig['balance'], string>> = {
  p2c: `a weight is a share of the traffic; ${twice}`,
  'least-requests': `a weight is a share of the traffic; ${twice}`,
  'round-robin': 'a weight is a share of the traffic, whatever the load',
}

const shares = ({ endpoints, balance }: UpstreamConfig, path: string, from: Origin): readonly Share[] => {
  const taken = ({ weight, drain }: EndpointConfig): number => (drain ? 0 : weight)
  const total = endpoints.reduce((sum, endpoint) => sum + taken(endpoint), 0)
  const percent = (share: number): number => Math.round(share * 1000) / 10
  const most = balance === 'round-robin' ? 1 : 2
  return endpoints.map((endpoint) => ({
    url: endpoint.origin === 'sandbox' ? endpoint.origin : `${endpoint.origin}${endpoint.pathPrefix}${path}`,
    pathPrefix: endpoint.pathPrefix,
    weight: endpoint.weight,
    drain: endpoint.drain,
    percent: percent(taken(endpoint) / total),
    mostPercent: percent(Math.min(1, (most * taken(endpoint)) / total)),
    sandbox: endpoint.origin === 'sandbox',
    origin: from,
  }))
}

/** Shows how an upstream is spoken to and what it does about endpoints that fail, key by key; what is off is one row. */
const upstreamRows = ({ endpoints, host, retry }: UpstreamConfig, tree: Tree): Rows => {
  const isTls = endpoints.some(({ origin }) => origin.startsWith('https:'))
  // What has rows elsewhere: among the endpoints, the fields and the layers. TLS says nothing about plain HTTP.
  const elsewhere = ['endpoints', 'request', 'response', 'concurrency']
  const left = [...elsewhere, ...(isTls ? [] : ['tls']), ...(retry === null ? ['retry'] : [])]
  const rest = Object.fromEntries(Object.entries(tree).filter(([key]) => !left.includes(key)))
  return flat({ ...rest, host: hosts(host) })
}

/** Shows what of caching is on. */
const cacheText = (tree: Tree): string =>
  flat(tree)
    .filter(([, value]) => value !== 'false' && value !== 'none')
    .map(([key, value]) => `${key}: ${value}`)
    .join(', ')

const layersOf = (
  rows: readonly StackRow[],
  state: 'serve' | 'refuse',
  setting: (key: string, value: string) => Setting,
): readonly LayerShown[] => {
  const shown = rows.map((row) => ({
    ...setting(row.key, row.setting),
    name: row.name,
    on: row.layer !== null && state === 'serve',
  }))
  // It stands in place of all the others, and of the upstream.
  return state === 'serve' ? shown : [{ ...setting('state', 'refuse'), name: 'refuse', on: true }, ...shown]
}

const hosts = (host: UpstreamConfig['host']): string => {
  if (host === 'endpoint') return "the endpoint's own"
  return host === 'client' ? "the client's" : host.name
}

const fieldRows = (
  direction: 'request' | 'response',
  { set, remove }: FieldEdits,
): readonly (readonly [direction: string, what: string, value: string])[] => [
  ...remove.map((name) => [direction, `remove ${name}`, ''] as const),
  ...set.map(({ name, value, secret }) => [direction, `set ${name}`, secret ? '***' : value] as const),
]
