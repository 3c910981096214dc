import type {
  AdminReport,
  OverviewInputs,
  PlacedFindings,
  PlacedMetrics,
  PlacedOverview,
  PlacedStatus,
} from '../../core/admin/admin-part.ts'
import type { StatusInputs } from '../../core/admin/api/status.ts'
import { areMostFailing } from '../../core/admin/findings/failure-phrases.ts'
import { finding, type Severity, unknownPlaces } from '../../core/admin/findings/finding.ts'
import type { FindingSource } from '../../core/admin/findings/finding-inputs.ts'
import { type MetricDefinitions, type MetricInputs, seriesFor } from '../../core/admin/metrics/metric.ts'
import { commandLine } from '../../core/lib/program.ts'
import { asList, asNullable } from '../../core/lib/text/decode.ts'
import { formatTimeOfDay } from '../../core/lib/text/format-time.ts'
import { formatShare } from '../../core/lib/text/units.ts'
import { sum } from '../../core/log/sum-reports.ts'
import { derived } from '../../core/runtime/status/field.ts'
import { allOperations } from '../../operations.ts'
import { upstreamErrorRule } from './check/compiled-contract.ts'
import { type DriftReport, type DriftRow, messageDirections, type RecentDrift, totalsOf } from './drift-report.ts'
import {
  type ContractStatus,
  contractShape,
  contractStatus,
  type DriftRowView,
  driftRowShape,
  driftRowViews,
  getContractReport,
} from './status.ts'

const outcomes = ({ config: { compiledContract, operations }, report: { drift } }: MetricInputs) =>
  allOperations
    .filter(({ id }) => compiledContract?.operations[id] !== undefined)
    .flatMap(({ id }) =>
      messageDirections
        .filter((direction) => operations[id].contract[direction] !== 'off')
        .flatMap((direction) => {
          const { checked, broken, rejected, unchecked } = totalsOf(drift, id, direction)
          return [
            [id, direction, 'kept', checked - broken],
            [id, direction, 'broken', broken - rejected],
            [id, direction, 'rejected', rejected],
            [id, direction, 'unchecked', sum(Object.values(unchecked))],
          ] as const
        }),
    )

const contractMetrics: MetricDefinitions = {
  contract_messages_total: seriesFor(['operation', 'direction', 'outcome'], outcomes).counter(
    'Messages held to the contract: kept it, broke it and passed (broken), were rejected, or had an unread body (unchecked).',
  ),
}

// Fewer broken messages in five minutes may be a hiccup.
const minBroken = 3

const maxPlaces = 3

// After a minute without a broken message the finding says so; after five minutes it ends.
const quietMs = 60_000

/** Places and rules are the contract's words: nothing in a finding is written by a client. */
const contractFindings: FindingSource = ({ at, config, report: { drift } }) =>
  (drift?.recent ?? []).flatMap((recent) => {
    const { operation, direction, endpoint, checked, broken, brokenSince, lastBrokenAt } = recent
    if (drift === null || brokenSince === null || lastBrokenAt === null) return []
    const mode = config.operations[operation].contract[direction]
    if (mode === 'off') return []
    const shown = shownRows(drift, recent)
    const isQuiet = at - lastBrokenAt >= quietMs
    const severity = isQuiet || broken < minBroken ? 'notice' : severityOf(recent, mode === 'enforce')
    const command = commandLine('contract', 'report')
    const quietAt = isQuiet ? lastBrokenAt : null
    const found = { direction, endpoint, checked, broken, mode, shown, quietAt, since: brokenSince, command }
    return finding('contract-broken', severity, `operations.${operation}`, found, (facts, at) => {
      const { direction, shown, mode, checked, broken, since, quietAt } = facts
      const from = facts.endpoint ?? 'other endpoints'
      const isUpstreamError = shown.length > 0 && shown.every(({ rule }) => rule === upstreamErrorRule)
      const broken5xx = `responses of ${from} are 5xx, which the contract does not name (add default or 5XX)`
      const breaking = `${direction === 'request' ? 'requests' : `responses of ${from}`} break the contract`
      const instead = mode === 'report' ? '' : direction === 'request' ? ', and are rejected' : ', and clients get 502'
      const quiet = quietAt === null ? '' : `, none since ${formatTimeOfDay(quietAt, at)}`
      const places = isUpstreamError ? '' : `: ${placesPhrase(shown, direction)}`
      return [
        `${formatShare(broken, checked)} of the ${isUpstreamError ? broken5xx : breaking} since ${formatTimeOfDay(since, at)}${instead} (${broken} of ${checked} in the last 5 minutes${quiet})${places}`,
      ]
    })
  })

/** A few broken requests are their clients' fault; if half of them are rejected, the contract may be wrong. */
const severityOf = ({ direction, broken, checked }: RecentDrift, isEnforced: boolean): Severity => {
  if (direction === 'response') return isEnforced ? 'critical' : 'warning'
  return isEnforced && areMostFailing(broken, checked) ? 'warning' : 'notice'
}

const shownRows = ({ rows }: DriftReport, { operation, direction, endpoint, brokenSince }: RecentDrift) => {
  const own = rows.filter(
    (row) => row.operation === operation && row.direction === direction && row.lastAt >= (brokenSince ?? 0),
  )
  // A row knows only the endpoint of its last message.
  const ofEndpoint = direction === 'response' ? own.filter(({ example }) => example.endpoint === endpoint) : own
  return ofEndpoint.length > 0 ? ofEndpoint : own
}

const placesPhrase = (shown: readonly DriftRow[], direction: RecentDrift['direction']): string => {
  const [last] = shown.toSorted((a, b) => b.lastAt - a.lastAt)
  if (last === undefined) return unknownPlaces
  const places = shown.slice(0, maxPlaces).map(placeText).join(', ')
  const more = shown.length - maxPlaces
  const who = direction === 'request' ? `; the last one from ${last.example.client}` : ''
  return `${places}${more > 0 ? ` and ${more} more` : ''}${who}`
}

const placeText = ({ in: place, pointer, rule }: DriftRow): string =>
  `${place === 'body' && pointer !== '' ? '' : `${place} `}${pointer === '' ? '' : `${pointer} `}${rule}`

export const reports: readonly AdminReport[] = [{ before: 'config', path: '/contract', respond: getContractReport }]

export const findings: readonly PlacedFindings[] = [{ after: 'gatewayErrors', value: contractFindings }]

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: contractMetrics }]

declare module '../../core/runtime/status/status-part.ts' {
  interface Status {
    readonly contract: ContractStatus | null
  }
}

export const status: readonly PlacedStatus[] = [
  {
    before: 'operations',
    key: 'contract',
    field: derived(asNullable(contractShape), ({ context, report, inputs }: StatusInputs) =>
      contractStatus(inputs.config, context.reloader.file, report.drift),
    ),
  },
]

declare module '../../core/admin/admin-part.ts' {
  interface Overview {
    readonly drift: readonly DriftRowView[]
  }
}

export const overview: readonly PlacedOverview[] = [
  {
    after: 'rejections',
    key: 'drift',
    field: derived(asList(driftRowShape), ({ report }: OverviewInputs) =>
      driftRowViews(report.drift).slice(0, maxRowViews),
    ),
  },
]

const maxRowViews = 10

export const loadOpenApi = () => import('./openapi.ts')

export const loadPage = () => import('./page.ts')

export const loadStatusTexts = () => import('./status-text.ts')
