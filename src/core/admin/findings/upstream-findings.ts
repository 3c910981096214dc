import { type Group, groups } from '../../../operations.ts'
import { lastFailurePhrase } from '../../exchange/failures/errors.ts'
import { mayBeUpstreamFault } from '../../exchange/failures/failure-table.ts'
import { sideKey } from '../../exchange/sides.ts'
import type { ErrorCount } from '../../log/recent-errors.ts'
import type { EndpointReport } from '../../runtime/status/endpoint.ts'
import type { GroupClients } from '../admin-context.ts'
import { breakerPhrase, nextTryDetails } from './breaker-phrases.ts'
import { clientErrorFindings, endpointFindings } from './endpoint-findings.ts'
import {
  causePhrase,
  groupOfOperation,
  isContractFailure,
  limitPhrase,
  rejectedPhrase,
  tallyRejected,
} from './failure-phrases.ts'
import { type Found, faultCommandLine, finding, liveCommandLine, mergeByGroup } from './finding.ts'
import type { FindingInputs, FindingSource } from './finding-inputs.ts'
import { groupOutage, outageFindings } from './outage-findings.ts'

/** For a group in an outage, only the outage is reported. */
export const upstreamFindings: FindingSource = (inputs) => [
  ...outageFindings(inputs),
  ...mergeByGroup(
    groups
      .filter((group) => groupOutage(group, inputs) === null)
      .flatMap((group) => {
        const { endpoints } = inputs.report.upstreams[group]
        const causes = getUpstreamErrors(group, inputs)
        return [
          breakerFinding(group, causes, inputs),
          ...endpoints.flatMap((each) => endpointFindings(group, each, causes, inputs)),
          noEndpointFinding(group, endpoints, inputs),
          inputs.findingParts.flatMap((part) => part.findOfGroup?.(group, inputs) ?? []),
          clientErrorFindings(group, inputs),
        ].flat()
      }),
    inputs.at,
  ),
]

/** The most frequent first. */
export const getUpstreamErrors = (group: Group, { report }: FindingInputs): readonly ErrorCount[] =>
  report.recentErrors.causes.filter(
    (each) =>
      each.operation !== null &&
      each.endpoint !== null &&
      groupOfOperation(each.operation) === group &&
      !isContractFailure(each) &&
      mayBeUpstreamFault(each.kind),
  )

/** Half-open counts as open. Some requests may succeed. */
const breakerFinding = (group: Group, causes: readonly ErrorCount[], inputs: FindingInputs): Found => {
  const { breaker } = inputs.report.upstreams[group]
  if (breaker === null || breaker.state === 'closed') return []
  const { lastFailure: last } = breaker
  const [first] = causes
  const why =
    last !== null
      ? lastFailurePhrase(last, last.endpoint) + limitPhrase(last, group, inputs)
      : first && causePhrase(first, first.endpoint ?? '', inputs)
  const facts = {
    ...{ group, breaker, why, rejected: tallyRejected(inputs.report, 'circuit-open', group) },
    endpoints: [(last ?? first)?.endpoint ?? []].flat(),
    since: breaker.outageSince ?? breaker.since,
    command: faultCommandLine(group, [(last ?? first)?.kind ?? null], inputs),
  }
  return finding(
    'breaker-not-closed',
    'critical',
    sideKey(group, 'primary'),
    facts,
    ({ group, breaker, ...facts }, at) => {
      const does = breaker.state === 'open' ? 'so nothing is sent to it' : 'so only a few requests are sent, as a test'
      const why = facts.why === undefined ? '' : `, because ${facts.why}`
      return [
        `${breakerPhrase(group, breaker)}, ${does}${why}${rejectedPhrase(facts.rejected)}`,
        ...nextTryDetails(breaker, at),
      ]
    },
  )
}

const noEndpointFinding = (
  group: Group,
  endpoints: readonly EndpointReport[],
  { config, overrides, report, findClients }: FindingInputs,
): Found => {
  if (endpoints.some(({ state }) => state.name !== 'draining')) return []
  const rejected = tallyRejected(report, 'no-healthy-endpoint', group)
  const clients = findClients(group, config, overrides).primary
  const severity = clients === 'none' ? 'warning' : 'critical'
  const facts = { group, clients, rejected, since: rejected.firstAt, command: liveCommandLine(group, config) }
  return finding('no-endpoint', severity, sideKey(group, 'primary'), facts, ({ group, clients, rejected }) => [
    `every endpoint of ${group} drains, or has weight 0, ${consequences[clients]}${rejectedPhrase(rejected)}`,
  ])
}

const consequences: Readonly<Record<GroupClients['primary'], string>> = {
  all: 'so every client gets 503',
  some: 'so clients that are not on the candidate get 503',
  none: 'and every client is on the candidate',
}
