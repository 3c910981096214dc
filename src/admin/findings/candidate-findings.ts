import { type Group, groups } from '../../operations.ts'
import type { CandidateReport } from '../../runtime/report/status-report.ts'
import type { ShiftState } from '../../runtime/shift/shift-state.ts'
import { describeSide, sideKey } from '../../sides.ts'
import { type CandidateClients, clientConsequences, findCandidateClients, isTakenBack } from '../candidate-clients.ts'
import { formatTimeOfDay } from '../format-time.ts'
import { clientErrorFindings } from './client-errors.ts'
import { upstreamCertificateFindings } from './credentials.ts'
import { createFinding, type Finding, lastFailurePhrase, tryCommandLine, wherePhrase } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'
import { groupOutage, nextTryDetails } from './outage.ts'
import { ownerDetails } from './owner-details.ts'
import { endpointFindings, getUpstreamErrors } from './upstreams.ts'

/**
 * Finds what is wrong with candidates. Nothing is worse than a warning while it costs no request: no client is on the
 * candidate, or the primary serves what could not be sent.
 */
export const candidateFindings = (inputs: FindingInputs): readonly Finding[] =>
  groups.flatMap((group) => {
    const { candidate } = inputs.report.upstreams[group]
    if (candidate === null) return []
    const stopped = stopFindings(group, inputs)
    const clients = findClients(group, inputs)
    const seen = viewAsPrimary(group, candidate, inputs)
    const outages = [
      ...outageFindings(group, candidate, clients, seen),
      ...upstreamCertificateFindings(seen, [group]),
    ].map((finding) => (clients === 'exposed' ? finding : atMostWarning(finding)))
    // What clients were told is no less for what the others are told.
    const others = groupOutage(group, seen) !== null ? [] : endpointsFindings(group, candidate, seen)
    return [
      ...stopped,
      ...outages,
      ...others.map((finding) => (clients === 'none' ? atMostWarning(finding) : finding)),
    ].map((finding) => ({ ...finding, about: sideKey(group, 'candidate') }))
  })

/** Finds what becomes of clients when the candidate fails: a primary that serves nothing covers nothing. */
const findClients = (group: Group, inputs: FindingInputs): CandidateClients => {
  const clients = findCandidateClients(inputs.config.upstreams[group].candidate, inputs.overrides.shifts.get(group))
  const { endpoints } = inputs.report.upstreams[group]
  const isOut = endpoints.every(({ state }) => state.name === 'draining') || groupOutage(group, inputs) !== null
  return clients === 'covered' && isOut ? 'exposed' : clients
}

/**
 * Finds that no operator has stopped the candidate: the guard has taken it back, or Redis does not say whether that is
 * so. It costs no request: all clients are on the primary.
 */
const stopFindings = (group: Group, { overrides, at }: FindingInputs): readonly Finding[] => {
  const shift = overrides.shifts.get(group)
  if (shift === null || !(isTakenBack(shift) || isHeld(shift))) return []
  const { since, reason } = shift
  const why = reason === null ? '' : `: ${reason}`
  const what = isTakenBack(shift)
    ? `was taken back at ${formatTimeOfDay(since, at)}`
    : `gets nothing since ${formatTimeOfDay(since, at)}, until Redis says what was said of it before`
  const cause = `${describeSide(group, 'candidate')} ${what}${why}`
  return [
    createFinding('warning', sideKey(group, 'candidate'), cause, { since, command: `lender-gateway shift ${group}` }),
  ]
}

const isHeld = ({ isStopped, cause }: ShiftState): boolean => isStopped && cause === 'redis'

const atMostWarning = (finding: Finding): Finding =>
  finding.severity === 'critical' ? { ...finding, severity: 'warning' } : finding

/** Finds why nothing, or hardly anything, is sent to the candidate. */
const outageFindings = (
  group: Group,
  { endpoints, breaker }: CandidateReport,
  clients: CandidateClients,
  seen: FindingInputs,
): readonly Finding[] => {
  const name = describeSide(group, 'candidate')
  const consequence = clientConsequences[clients]
  const about = sideKey(group, 'candidate')
  const command = tryCommandLine(group, seen)
  if (endpoints.every(({ state }) => state.name === 'draining')) {
    const cause = `every endpoint of ${name} drains, or has weight 0${consequence}`
    return [createFinding(clients === 'exposed' ? 'critical' : 'notice', about, cause)]
  }
  const outage = groupOutage(group, seen)
  if (outage !== null) {
    const { since, fact } = outage
    const begun = since === null ? '' : ` since ${formatTimeOfDay(since, seen.at)}`
    const cause = `no endpoint of ${name} serves${begun}${consequence}: ${fact}`
    return [createFinding('critical', about, cause, { since, command, details: ownerDetails(endpoints, seen) })]
  }
  if (breaker === null || breaker.state === 'closed') return []
  const { lastFailure } = breaker
  const why = lastFailure === null ? '' : `, because ${lastFailurePhrase(lastFailure, lastFailure.endpoint)}`
  const cause = `the circuit breaker of ${name} is ${breaker.state}${wherePhrase(breaker)}${consequence}${why}`
  const details = nextTryDetails(breaker, seen.at)
  return [createFinding('critical', about, cause, { since: breaker.outageSince ?? breaker.since, command, details })]
}

const endpointsFindings = (group: Group, { endpoints }: CandidateReport, seen: FindingInputs): readonly Finding[] => {
  const causes = getUpstreamErrors(group, seen)
  return [
    ...endpoints.flatMap((each) => endpointFindings(group, each, causes, seen)),
    ...clientErrorFindings(group, seen, describeSide(group, 'candidate')),
  ]
}

/** Views the candidate of a group as its upstream, so that the same rules judge both. */
const viewAsPrimary = (group: Group, candidate: CandidateReport, inputs: FindingInputs): FindingInputs => {
  const { config, report } = inputs
  const ofPrimary: ReadonlySet<string | null> = new Set(report.upstreams[group].endpoints.map(({ url }) => url))
  const { upstream } = config.upstreams[group].candidate ?? { upstream: config.upstreams[group] }
  return {
    ...inputs,
    config: { ...config, upstreams: { ...config.upstreams, [group]: upstream } },
    report: {
      ...report,
      upstreams: { ...report.upstreams, [group]: { ...candidate, retryBudget: null, candidate: null } },
      // They name an endpoint by its URL. Those of one that the primary has as well are told of the primary.
      recentErrors: {
        ...report.recentErrors,
        causes: report.recentErrors.causes.filter(({ endpoint }) => !ofPrimary.has(endpoint)),
      },
    },
  }
}
