import type { AdminPart, AdminReport, PlacedFindings } from '../../core/admin/admin-part.ts'
import { pluralize } from '../../core/admin/commands/phrases.ts'
import { areMostFailing, isQuiet } from '../../core/admin/findings/failure-phrases.ts'
import { explainCommandLine, finding } from '../../core/admin/findings/finding.ts'
import type { FindingInputs, FindingSource } from '../../core/admin/findings/finding-inputs.ts'
import { groupOutage } from '../../core/admin/findings/outage-findings.ts'
import { lastFailurePhrase } from '../../core/exchange/failures/errors.ts'
import { reportedSides } from '../../core/exchange/sides.ts'
import { formatTimeOfDay } from '../../core/lib/text/format-time.ts'
import type { EndpointReport } from '../../core/runtime/status/endpoint.ts'
import type { SideReport } from '../../core/runtime/status/side.ts'
import { allOperations, byOperation, type Group } from '../../operations.ts'
import {
  createEndpointRates,
  createRateHistory,
  type EndpointRates,
  type RateHistory,
  stepSeconds,
} from './rate-history.ts'

declare module '../../core/admin/admin-context.ts' {
  interface AdminContext {
    readonly history: RateHistory
    readonly endpointRates: EndpointRates
  }
}

export const openState: NonNullable<AdminPart['openState']> = ({ report }) => {
  const endpointRates = createEndpointRates()
  const history = createRateHistory(async () => {
    const { upstreams, requestMetrics } = await report()
    endpointRates.sample(upstreams)
    return requestMetrics
  })
  return { members: { history, endpointRates }, start: () => void history.start(), close: () => history.close() }
}

export const reports: readonly AdminReport[] = [
  {
    after: 'status',
    path: '/overview',
    // Late: its members are those of all features.
    async respond(context) {
      const { getPageView } = await import('./overview.ts')
      return { ...(await getPageView(context)), found: undefined }
    },
  },
]

export const findingInputs: NonNullable<AdminPart['findingInputs']> = ({ history }, { requestMetrics }) => ({
  recent: requestMetrics && byOperation(({ id }) => history.recent(id, requestMetrics)),
})

// As for failures at an endpoint: fewer in a minute may come from one broken connection.
const minErrors = 3

// Samples of the last minute may be older by one step.
const recentMs = 60_000 + stepSeconds * 1000

const relayedErrorFindings: FindingSource = (inputs) =>
  allOperations.flatMap(({ id, group }) => {
    const { recent, report } = inputs
    const { requests, passedOn: errors } = recent?.[id] ?? { requests: 0, passedOn: 0 }
    if (errors < minErrors) return []
    const isOut = groupOutage(group, inputs) !== null
    const failing = [...(isOut ? [] : report.upstreams[group].endpoints), ...endpointsWithClients(group, inputs)]
      .flatMap(({ url, lastFailure }) => (lastFailure?.kind === null ? [{ url, lastFailure }] : []))
      .filter(({ lastFailure }) => inputs.at - lastFailure.at <= recentMs)
      .sort((a, b) => b.lastFailure.at - a.lastFailure.at)
    if (isOut && failing.length === 0) return []
    const [latest] = failing
    const hasEnded = latest !== undefined && isQuiet(latest.lastFailure.at, inputs.at)
    const severity = areMostFailing(errors, requests) && !hasEnded ? 'critical' : 'warning'
    const facts = { latest, hasEnded, errors, requests, command: explainCommandLine(id, inputs.config) }
    return finding('errors-relayed', severity, `operations.${id}`, facts, ({ latest, hasEnded, ...facts }, at) => {
      const last = latest === undefined ? '' : ` (${lastFailurePhrase(latest.lastFailure, latest.url)} last)`
      const quiet = latest && hasEnded ? `, none since ${formatTimeOfDay(latest.lastFailure.at, at)}` : ''
      const responds = hasEnded ? 'responded' : 'responds'
      return [
        `its upstream ${responds} with 5xx of its own${last}: ${facts.errors} of ${pluralize(facts.requests, 'request')} in the last minute${quiet}`,
      ]
    })
  })

const endpointsWithClients = (
  group: Group,
  { config, report, overrides, findClients }: FindingInputs,
): readonly EndpointReport[] =>
  findClients(group, config, overrides).others === 'none'
    ? []
    : reportedSides<SideReport>(report.upstreams[group]).flatMap(({ side, report }) =>
        side === 'primary' ? [] : report.endpoints,
      )

export const findings: readonly PlacedFindings[] = [{ after: 'drained', value: relayedErrorFindings }]
