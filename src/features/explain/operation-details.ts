import type { LayerPlace, SettingRows } from '../../core/cli/built-in-command.ts'
import type { Config, EndpointConfig, HeaderMutationConfig, UpstreamConfig } from '../../core/config/config.ts'
import { configParts, nestedUpstreamKeys } from '../../core/config/config-part.ts'
import { renderEffectiveConfig } from '../../core/config/diff/report.ts'
import type { Provenance, ProvenanceMap } from '../../core/config/load/provenance.ts'
import { listSides, sideKey } from '../../core/exchange/sides.ts'
import { RequestMetrics } from '../../core/log/metrics/request-metrics.ts'
import { layerTable } from '../../core/runtime/pipeline/compose-layers.ts'
import type { LayerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import { loadParts } from '../../core/runtime/runtime-parts.ts'
import type { Operation, Side } from '../../operations.ts'
import { explainParts, flattenTree, globalSettingRows, type SettingTree, subtree } from './global-settings.ts'

export interface ExplainedSetting {
  readonly key: string
  readonly value: string
  readonly provenance: Provenance
}

export type EndpointShare = ReturnType<typeof toEndpointShares>[number]
export type ExplainedLayer = ReturnType<typeof toExplainedLayers>[number]
export type OperationDetails = ReturnType<typeof collectOperationDetails>
export type UpstreamDetails = Pick<OperationDetails, 'endpoints' | 'weightMeans' | 'fields' | 'upstream'>

export const collectOperationDetails = (described: Operation, config: Config, provenance: ProvenanceMap) => {
  const { id, path, group } = described
  const setting = (key: string, value: string): ExplainedSetting => ({
    key,
    value,
    provenance: provenance.get(key) ?? builtInProvenance,
  })
  const operation = config.operations[id]
  const tree = renderEffectiveConfig(config)
  const describeUpstream = (side: Side, upstream: UpstreamConfig) => {
    const key = sideKey(group, side)
    return {
      endpoints: toEndpointShares(upstream, path, setting(`${key}.endpoints`, '').provenance),
      weightMeans: upstream.endpoints.length > 1 ? weightMeans[upstream.balance] : null,
      fields: [...fieldRows('request', upstream.request), ...fieldRows('response', upstream.response)].map(
        ([direction, what, value]) => ({ ...setting(`${key}.${direction}`, value), what: `${direction}.${what}` }),
      ),
      upstream: upstreamSettingRows(upstream, subtree(tree, ...key.split('.'))).map(([name, value]) =>
        setting(`${key}.${name}`, value),
      ),
    }
  }
  const other = listSides(config.upstreams[group]).find(({ side }) => side !== 'primary')
  return {
    ...describeUpstream('primary', config.upstreams[group]),
    other: other === undefined ? null : { side: other.side, ...describeUpstream(other.side, other.upstream) },
    operation: [setting(`operations.${id}.state`, operation.state)],
    layers: toExplainedLayers(
      describeLayers(config, described),
      described,
      config,
      setting,
      ({ name, key, setting: value }) => {
        const explained = setting(key, value)
        const policy = subtree(tree, 'operations', id, name)
        if (Object.keys(policy).length > 0 && explainParts.some(({ wholeLayers }) => wholeLayers?.includes(name)))
          return { ...explained, value: renderPolicy(policy) }
        // Without such a file the modes do nothing.
        return findPlace(name, described, config) === null ? { ...explained, provenance: builtInProvenance } : explained
      },
    ),
    globals: globalSettingRows(config, tree).map(([key, value]) => setting(key, value)),
  }
}

const runtimeParts = await loadParts()

/** Layers are only described: nothing connects or counts. */
export const describeLayers = (config: Config, operation: Operation): readonly LayerRow[] =>
  layerTable({
    operation,
    config,
    features: runtimeParts.map((part) => part.describe(config)),
    requestMetrics: new RequestMetrics(),
  })

/** Undefined: the layer has no file of its own; null: none is configured. */
const findPlace = (layer: LayerRow['name'], operation: Operation, config: Config): LayerPlace | null | undefined =>
  explainParts.map((part) => part.layerPlace?.(layer, operation, config)).find((each) => each !== undefined)

const builtInProvenance: Provenance = { source: 'built-in', line: 0, column: 0 }

const upToTwiceNote = 'one that is less loaded gets up to twice it, one that fails no more than it'

/** docs/upstreams.md, "Choosing". */
const weightMeans: Readonly<Record<UpstreamConfig['balance'], string>> = {
  p2c: `a weight is a share of the traffic; ${upToTwiceNote}`,
  'least-requests': `a weight is a share of the traffic; ${upToTwiceNote}`,
  'round-robin': 'a weight is a share of the traffic, whatever the load',
}

const toEndpointShares = ({ endpoints, balance }: UpstreamConfig, path: string, provenance: Provenance) => {
  const activeWeight = ({ weight, drain }: EndpointConfig): number => (drain ? 0 : weight)
  const total = endpoints.reduce((sum, endpoint) => sum + activeWeight(endpoint), 0)
  const percent = (share: number): number => Math.round(share * 1000) / 10
  const maxFactor = balance === 'round-robin' ? 1 : 2
  return endpoints.map((endpoint) => ({
    url: endpoint.origin === 'sandbox' ? endpoint.origin : `${endpoint.origin}${endpoint.pathPrefix}${path}`,
    pathPrefix: endpoint.pathPrefix,
    weight: endpoint.weight,
    drain: endpoint.drain,
    percent: percent(activeWeight(endpoint) / total),
    /** While the endpoint is the least loaded and every endpoint is up. */
    mostPercent: percent(Math.min(1, (maxFactor * activeWeight(endpoint)) / total)),
    sandbox: endpoint.origin === 'sandbox',
    provenance,
  }))
}

const upstreamSettingRows = ({ endpoints, host }: UpstreamConfig, tree: SettingTree): SettingRows => {
  const isTls = endpoints.some(({ origin }) => origin.startsWith('https:'))
  // Shown elsewhere: among the endpoints, fields and layers. `tls` has no effect on plain HTTP.
  const omittedKeys = ['endpoints', 'request', 'response', ...nestedUpstreamKeys(), ...(isTls ? [] : ['tls'])]
  const layerKeys = configParts.flatMap(({ policyKeys = [] }) => policyKeys.map(({ key }) => key))
  const rest = Object.fromEntries(
    Object.entries(tree).filter(([key]) =>
      layerKeys.includes(key) ? Object.keys(subtree(tree, key)).length > 0 : !omittedKeys.includes(key),
    ),
  )
  return flattenTree({ ...rest, host: renderHost(host) })
}

const renderPolicy = (tree: SettingTree): string =>
  flattenTree(tree)
    .filter(([, value]) => value !== 'false' && value !== 'none')
    .map(([key, value]) => `${key}: ${value}`)
    .join(', ')

const toExplainedLayers = (
  rows: readonly LayerRow[],
  operation: Operation,
  config: Config,
  setting: (key: string, value: string) => ExplainedSetting,
  explain: (row: Pick<LayerRow, 'name' | 'key' | 'setting'>) => ExplainedSetting,
) => {
  const { id } = operation
  const { state } = config.operations[id]
  const shown = rows.map((row) => {
    const place = findPlace(row.name, operation, config) ?? null
    // Only a serving process composes a layer that reads a file.
    const isOn = place === null ? row.layer !== null : row.setting !== 'off' && place.offBecause === null
    return { ...explain(row), name: row.name, on: isOn && state === 'serve', place }
  })
  // `reject` replaces all other layers and the upstream.
  const key = `operations.${id}.state`
  return state === 'serve' ? shown : [{ ...setting(key, 'reject'), name: 'reject', on: true, place: null }, ...shown]
}

const renderHost = (host: UpstreamConfig['host']): string => {
  if (host === 'endpoint') return "the endpoint's own"
  return host === 'client' ? "the client's" : host.name
}

const fieldRows = (
  direction: 'request' | 'response',
  { set, remove }: HeaderMutationConfig,
): readonly (readonly [direction: string, what: string, value: string])[] => [
  ...remove.map((name) => [direction, `remove ${name}`, ''] as const),
  ...set.map(({ name, value, hidden }) => [direction, `set ${name}`, hidden ? '***' : value] as const),
]
