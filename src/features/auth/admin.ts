import type { AdminContext } from '../../core/admin/admin-context.ts'
import type {
  OpenProofs,
  OverviewInputs,
  PlacedFindings,
  PlacedMetrics,
  PlacedOverview,
  PlacedStatus,
} from '../../core/admin/admin-part.ts'
import type { StatusInputs } from '../../core/admin/api/status.ts'
import { checkCommandLine, finding, wherePhrase } from '../../core/admin/findings/finding.ts'
import type { FindingSource } from '../../core/admin/findings/finding-inputs.ts'
import { className } from '../../core/admin/metrics/families/traffic.ts'
import {
  addUp,
  gauge,
  type MetricDefinitions,
  type MetricInputs,
  metricsOf,
  seriesFor,
} from '../../core/admin/metrics/metric.ts'
import type { Config } from '../../core/config/config.ts'
import { reasonsFor, reasonTable } from '../../core/exchange/failures/errors.ts'
import type { FailureKind } from '../../core/exchange/failures/failure-table.ts'
import type { AuthMethod } from '../../core/exchange/failures/reason-rows.ts'
import { asList, asNullable, asNumber, asObject, asText, type Decoded } from '../../core/lib/text/decode.ts'
import type { OperationMetricsReport } from '../../core/log/metrics/request-metrics.ts'
import { derived, fromReport, type Shown } from '../../core/runtime/status/field.ts'
import { type ClientActivityView, clientActivityShape, toClientActivityView } from './client-activity.ts'
import { tokensField } from './status.ts'
import type { IssuerKeysState } from './tokens/jwt/jwks-cache.ts'

declare module '../../core/admin/findings/finding-inputs.ts' {
  interface FindingInputs {
    readonly operatorKeys: IssuerKeysState | null
  }
}

const tokenFindings: FindingSource = ({ report: { tokens }, operatorKeys, file }) => {
  const { jwt, introspection, proofs } = tokens
  const command = checkCommandLine(file.name, '--online') // fetches both issuers' keys
  const severity = jwt?.keys === 0 ? 'critical' : 'warning'
  return [
    jwt?.error != null &&
      finding('issuer-keys-missing', severity, 'auth.jwt', { ...jwt, command }, (jwt) => [
        `the issuer’s keys (auth.jwt.jwks) cannot be fetched${wherePhrase(jwt)}: ${describeKeys(jwt)}`,
      ]),
    operatorKeys?.error != null &&
      finding('operator-keys-missing', 'warning', 'admin.jwt', { ...operatorKeys, command }, (keys) => [
        `the keys of the issuer of operators (admin.jwt.jwks) cannot be fetched: ${describeKeys(keys)}`,
      ]),
    introspection?.error != null &&
      finding('introspection-fails', 'critical', 'auth.introspection', introspection, ({ where, error }) => [
        `tokens cannot be introspected (auth.introspection)${wherePhrase({ where })}: ${error}`,
      ]),
    proofs !== null &&
      proofs.remembered >= 0.9 * proofs.room &&
      finding('proofs-full', 'warning', 'auth.dpop', proofs, ({ remembered, room }) => [
        `the memory of DPoP proofs is nearly full (${remembered} of ${room}): when it is full, requests with a proof get 503`,
      ]),
  ]
}

const describeKeys = ({ keys, error }: Pick<IssuerKeysState, 'keys' | 'error'>): string =>
  `${error}: ${keys === 0 ? 'no token can be verified' : `the keys fetched earlier (${keys}) stay in use`}`

const results: ReadonlyMap<FailureKind, 'rejected' | 'unavailable'> = new Map([
  ['unauthenticated', 'rejected'],
  ['forbidden', 'rejected'],
  ['identity-unavailable', 'unavailable'],
])

type Authentications = readonly (readonly [method: string, result: string, reason: string, count: number])[]

const authentications = ({ config, requestMetrics }: MetricInputs): Authentications => {
  if (config.auth === null) return []
  const operations = Object.values(config.operations)
  const methods = new Set([...config.auth.methods, ...operations.flatMap((each) => each.auth?.methods ?? [])])
  return addUp([
    ['none', 'rejected', 'no-credential', 0],
    ...[...methods].flatMap(expectedOf),
    ...Object.values(requestMetrics.operations).flatMap(countedOf),
  ])
}

const expectedOf = (method: AuthMethod): Authentications => [
  [method, 'accepted', 'none', 0],
  ...[...results].flatMap(([kind, result]) =>
    reasonsFor(kind)
      .filter((reason) => reasonTable[reason].methods.includes(method))
      .map((reason) => [method, result, reason, 0] as const),
  ),
]

const countedOf = ({ accepted, reasons }: OperationMetricsReport): Authentications => [
  ...accepted.map(({ method, count }) => [method, 'accepted', 'none', count] as const),
  ...reasons.flatMap(({ failure, method, reason, count }) => {
    const result = results.get(failure)
    return result === undefined ? [] : [[method ?? 'none', result, reason, count] as const]
  }),
]

const clients = ({ config, requestMetrics }: MetricInputs): readonly (readonly [string, string, number])[] => {
  if (config.metrics?.clients !== true) return []
  const known = new Set(config.clients.map(({ id }) => id))
  const counted = requestMetrics.clients.filter(({ client }) => known.has(client))
  return addUp([
    ...[...known].flatMap((id) => [2, 4, 5].map((each) => [id, className(each), 0] as const)),
    ...counted.map(({ client, statusClass, count }) => [client, className(statusClass), count] as const),
  ])
}

const clientMetrics: MetricDefinitions = {
  client_requests_total: seriesFor(['client', 'status_class'], clients).counter(
    'Requests of each client of the file by status class; with metrics.clients only.',
  ),
}

const sources = seriesFor(['source'], ({ report: { tokens } }) =>
  (['jwt', 'introspection'] as const).flatMap((name) => {
    const source = tokens[name]
    return source === null ? [] : [[name, source] as const]
  }),
)

const proofs = metricsOf(({ report }) => report.tokens.proofs)

const authMetrics: MetricDefinitions = {
  authentications_total: seriesFor(['method', 'result', 'reason'], authentications).counter(
    'Checked credentials by method (none: no credential), result and reason.',
  ),
  token_source_up: sources.gauge(
    "Whether the issuer's keys (jwt) or the introspection server are reachable (1).",
    ({ error }) => error === null,
  ),
  token_source_last_success_timestamp_seconds: sources.gauge(
    'When the issuer or the introspection server last responded well; 0: never.',
    ({ lastSuccess }) => (lastSuccess ?? 0) / 1000,
  ),
  token_keys: gauge('Known keys of the issuer.', ({ report }) => report.tokens.jwt?.keys),
  proofs_remembered: proofs.gauge('Proofs of possession received in this window.', 'remembered'),
  proofs_room: proofs.gauge('Proofs of possession that fit into a window.', 'room'),
}

export const findings: readonly PlacedFindings[] = [{ after: 'certificates', value: tokenFindings }]

export const findingInputs = (admin: AdminContext) => ({ operatorKeys: admin.operatorKeys() as IssuerKeysState | null })

export const loadProofs = async (): Promise<OpenProofs> => (await import('./operator-jwts.ts')).createOperatorJwts

export const metrics: readonly PlacedMetrics[] = [
  { after: 'requests', value: clientMetrics },
  { before: 'configuration', value: authMetrics },
]

const clientsShape = asObject({ methods: asList(asText), count: asNumber, disabled: asNumber })

export const clientsStatus = ({ auth, clients }: Pick<Config, 'auth' | 'clients'>) => {
  if (auth === null && clients.length === 0) return null
  const disabled = clients.filter((client) => client.disabled).length
  return { methods: auth?.methods ?? [], count: clients.length, disabled }
}

declare module '../../core/runtime/status/status-part.ts' {
  interface Status {
    readonly clients: Decoded<typeof clientsShape> | null
    readonly tokens: Shown<typeof tokensField>
  }
}

export const status: readonly PlacedStatus[] = [
  {
    after: 'upstreams',
    key: 'clients',
    field: derived(asNullable(clientsShape), ({ inputs }: StatusInputs) => clientsStatus(inputs.config)),
  },
  { after: 'upstreams', key: 'tokens', field: fromReport('tokens', tokensField) },
]

export const loadOpenApi = () => import('./openapi.ts')

declare module '../../core/admin/admin-part.ts' {
  interface Overview {
    /** Of the last fifteen minutes. Null: `auth` is off. */
    readonly clients: ClientActivityView | null
  }
}

const activityOf = ({ report: { clients } }: OverviewInputs) => clients && toClientActivityView(clients)

export const overview: readonly PlacedOverview[] = [
  { after: 'rejections', key: 'clients', field: derived(asNullable(clientActivityShape), activityOf) },
]

export const loadPage = () => import('./page.ts')

export const loadStatusTexts = () => import('./tokens/status-text.ts')
