import { findPrimaryClients, type PrimaryClients } from '../../../features/candidate/candidate-clients.ts'
import { isContractFailure } from '../../../features/contract/findings.ts'
import { type Group, groups } from '../../../operations.ts'
import { mayBeUpstreamFault } from '../../exchange/failures/kinds.ts'
import { sideKey } from '../../exchange/sides.ts'
import type { ErrorCount } from '../../log/recent-errors/error-counts.ts'
import type { EndpointReport } from '../../runtime/report/status-report.ts'
import { clientErrorFindings } from './client-errors.ts'
import { endpointFindings } from './endpoint-findings.ts'
import { rejectedPhrase, tallyRejected } from './failure-tally.ts'
import {
  causePhrase,
  createFinding,
  type Finding,
  groupOfOperation,
  lastFailurePhrase,
  limitPhrase,
  mergeByGroup,
  wherePhrase,
} from './finding.ts'
import { faultCommandLine, liveCommandLine } from './finding-commands.ts'
import type { FindingInputs } from './finding-inputs.ts'
import { groupOutage, nextTryDetails, outageFindings } from './outage.ts'

/** Finds what is wrong with the upstreams. Of a group in an outage, that is all that is reported. */
export const upstreamFindings = (inputs: FindingInputs): readonly Finding[] => [
  ...outageFindings(inputs),
  ...mergeByGroup(
    groups
      .filter((group) => groupOutage(group, inputs) === null)
      .flatMap((group) => {
        const { endpoints } = inputs.report.upstreams[group]
        const causes = getUpstreamErrors(group, inputs)
        return [
          ...breakerFindings(group, causes, inputs),
          ...endpoints.flatMap((each) => endpointFindings(group, each, causes, inputs)),
          ...noEndpointFindings(group, endpoints, inputs),
          ...retryBudgetFindings(group, inputs),
          ...clientErrorFindings(group, inputs),
        ]
      }),
  ),
]

/** Lists the errors of a group's endpoints, the most frequent first. */
export const getUpstreamErrors = (group: Group, { report }: FindingInputs): readonly ErrorCount[] =>
  report.recentErrors.causes.filter(
    (each) =>
      each.operation !== null &&
      each.endpoint !== null &&
      groupOfOperation(each.operation) === group &&
      !isContractFailure(each) &&
      mayBeUpstreamFault(each.kind),
  )

/**
 * Finds a breaker that is not closed though some requests succeed. Half-open is as bad as open: it has not found out
 * yet.
 */
const breakerFindings = (group: Group, causes: readonly ErrorCount[], inputs: FindingInputs): readonly Finding[] => {
  const { report } = inputs
  const { breaker: state } = report.upstreams[group]
  if (state === null || state.state === 'closed') return []
  const { lastFailure: last } = state
  const [first] = causes
  const why =
    last !== null
      ? lastFailurePhrase(last, last.endpoint) + limitPhrase(last, group, inputs)
      : first && causePhrase(first, first.endpoint ?? '', inputs)
  const does =
    state.state === 'open'
      ? 'so nothing is sent to it'
      : 'so only a few requests are sent, to find out whether it is well'
  const cause = `the circuit breaker of ${group} is ${state.state}${wherePhrase(state)}, ${does}${why === undefined ? '' : `, because ${why}`}${rejectedPhrase(tallyRejected(report, 'circuit-open', group))}`
  const since = state.outageSince ?? state.since
  const details = nextTryDetails(state, inputs.at)
  const command = faultCommandLine(group, [last === null ? (first?.kind ?? null) : last.kind], inputs)
  return [createFinding('critical', sideKey(group, 'primary'), cause, { since, command, details })]
}

const noEndpointFindings = (
  group: Group,
  endpoints: readonly EndpointReport[],
  { config, overrides, report }: FindingInputs,
): readonly Finding[] => {
  if (endpoints.some(({ state }) => state.name !== 'draining')) return []
  const refused = tallyRejected(report, 'no-healthy-endpoint', group)
  const clients = findPrimaryClients(config.upstreams[group].candidate, overrides.shifts.get(group))
  const cause = `every endpoint of ${group} drains, or has weight 0, ${consequences[clients]}${rejectedPhrase(refused)}`
  const severity = clients === 'none' ? 'warning' : 'critical'
  return [
    createFinding(severity, sideKey(group, 'primary'), cause, {
      since: refused.firstAt,
      command: liveCommandLine(group, config),
    }),
  ]
}

const consequences: Readonly<Record<PrimaryClients, string>> = {
  all: 'so nobody answers',
  some: 'so nobody answers clients that are not on the candidate',
  none: 'and every client is on the candidate',
}

const retryBudgetFindings = (group: Group, { report }: FindingInputs): readonly Finding[] => {
  const { retryBudget } = report.upstreams[group]
  if (retryBudget === null || retryBudget.left >= 1) return []
  return [
    createFinding(
      'notice',
      sideKey(group, 'primary'),
      `the retry budget of ${group} is used up: what fails is not tried again`,
    ),
  ]
}
