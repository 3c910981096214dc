import { mayBeUpstreamFault } from '../../failures/kinds.ts'
import type { ErrorCount } from '../../observe/recent-errors/error-counts.ts'
import { type Group, groups } from '../../operations.ts'
import type { EndpointReport } from '../../runtime/report/status-report.ts'
import { formatDuration } from '../../units.ts'
import { findPrimaryClients, type PrimaryClients } from '../candidate-clients.ts'
import { formatTime, formatTimeOfDay } from '../format-time.ts'
import { clientErrorFindings } from './client-errors.ts'
import { isContractFailure } from './contract-findings.ts'
import {
  causePhrase,
  countPhrase,
  createFinding,
  type FailureTally,
  type Finding,
  faultCommandLine,
  groupByKey,
  groupOfOperation,
  lastFailurePhrase,
  limitPhrase,
  liveCommandLine,
  mergeByGroup,
  rejectedPhrase,
  tallyFailures,
  tallyRejected,
  tryCommandLine,
  wherePhrase,
} from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'
import { groupOutage, isServing, nextTryDetails, outageFindings } from './outage.ts'
import { ownerDetails } from './owner-details.ts'

// Fewer in a minute may be a hiccup of one connection, and are a warning.
const minFailures = 3

const recentMs = 60_000

// Where none has failed for that long, requests fail no more: the endpoint has recovered, or others do its work.
const quietMs = 15_000

// Of the timeout of its requests.
const slowShare = 0.5

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
  return [createFinding('critical', aboutOf(group), cause, { since, command, details })]
}

/** Finds why an endpoint gets no requests, or fails, or is slow. `causes`: the recent errors of its group. */
export const endpointFindings = (
  group: Group,
  each: EndpointReport,
  causes: readonly ErrorCount[],
  inputs: FindingInputs,
): readonly Finding[] => {
  const own = causes.filter(({ endpoint }) => endpoint === each.url)
  const out = outagePhrase(each, inputs.at)
  const stale = staleAddressFindings(group, each, inputs)
  if (own.length > 0) return [failingEndpointFinding(group, each, own, out, inputs), ...stale]
  return out === null
    ? [...stale, ...recoveredFailureFindings(group, each, inputs), ...slowFindings(group, each, inputs)]
    : [endpointOutageFinding(group, each, out, stale, inputs)]
}

/** Describes the failures at an endpoint. `errors`: its recent ones; `out`: why it gets no requests, if that is so. */
const failingEndpointFinding = (
  group: Group,
  each: EndpointReport,
  errors: readonly ErrorCount[],
  out: string | null,
  inputs: FindingInputs,
): Finding => {
  const { state, url } = each
  const tally = tallyFailures(errors)
  const quietSince = getQuietSince(tally, inputs.at)
  const [cause = '', ...details] = groupByKey(
    errors,
    // By its text: a connection may be closed before the response head and after it.
    ({ kind, reason }) => lastFailurePhrase({ kind, reason, status: null }, url),
  ).map((same) => `${causePhrase(same[0] as ErrorCount, url, inputs)}: ${countPhrase(tallyFailures(same), 'failed')}`)
  const severity =
    tally.lastMinute >= minFailures && quietSince === null && !isOutOfRotation(state)
      ? 'critical'
      : tally.lastMinute > 0 || out !== null
        ? 'warning'
        : 'notice'
  const quiet = quietSince === null ? '' : `, none since ${formatTimeOfDay(quietSince, inputs.at)}`
  return createFinding(severity, aboutOf(group), `${cause}${quiet}${out === null ? '' : `; ${out}`}`, {
    // A drain is no failure.
    since: each.failingSince ?? (state.name === 'draining' ? null : state.since) ?? tally.firstAt,
    command: faultCommandLine(
      group,
      errors.map(({ kind }) => kind),
      inputs,
    ),
    details: [...details, ...ownerDetails([each], inputs)],
  })
}

/** Describes an endpoint that is out, without a request that has failed of late. `others`: what else is wrong there. */
const endpointOutageFinding = (
  group: Group,
  each: EndpointReport,
  out: string,
  others: readonly Finding[],
  inputs: FindingInputs,
): Finding => {
  const { state, url, lastFailure: last } = each
  const cause = state.name !== 'down' && last !== null ? `${lastFailurePhrase(last, url)}; ${out}` : `${url}: ${out}`
  return createFinding('warning', aboutOf(group), cause, {
    since: each.failingSince ?? state.since,
    command: faultCommandLine(group, each.failingSince === null ? [] : [last?.kind ?? null], inputs),
    details: [...others.map((one) => one.cause), ...ownerDetails([each], inputs)],
  })
}

/**
 * Gets the time of the last failure within a minute, where none has come for a while. Null: failures go on, or are long
 * over.
 */
const getQuietSince = ({ lastMinute, lastAt }: FailureTally, at: number): number | null =>
  lastMinute > 0 && lastAt !== null && at - lastAt >= quietMs ? lastAt : null

/** Checks whether an endpoint gets no requests while others serve: its failures have ended. */
const isOutOfRotation = ({ name }: EndpointReport['state']): boolean => name === 'down' || name === 'ejected'

const staleAddressFindings = (
  group: Group,
  { url, outdated }: EndpointReport,
  inputs: FindingInputs,
): readonly Finding[] => {
  if (outdated === null) return []
  const { since, reason } = outdated
  const cause = `the name of ${url} is not found any more: ${reason}; requests go on to the address that it had`
  return [createFinding('warning', aboutOf(group), cause, { since, command: tryCommandLine(group, inputs) })]
}

/** Finds failures at an endpoint that cost no request: another attempt was made, or its own error was relayed. */
const recoveredFailureFindings = (
  group: Group,
  { url, lastFailure }: EndpointReport,
  { at, config }: FindingInputs,
): readonly Finding[] => {
  if (lastFailure === null || at - lastFailure.at > recentMs) return []
  const other = lastFailure.kind === null ? 'which is passed on' : 'and another attempt was made'
  const cause = `${lastFailurePhrase(lastFailure, url)}, ${other}`
  return [
    createFinding('notice', aboutOf(group), cause, { since: lastFailure.at, command: liveCommandLine(group, config) }),
  ]
}

/** Describes why an endpoint gets no requests, or as few as can be, or why they fail; null: it is well. */
const outagePhrase = (endpoint: EndpointReport, at: number): string | null => {
  const { state, ejectedForMs, failingSince, onProbation } = endpoint
  const although = isServing(endpoint) ? ', and answers all the same' : ''
  if (state.name === 'down') return `it is down: ${state.reason}${although}`
  if (state.name === 'failing') return 'no request to it goes well any more'
  if (state.name === 'up' && onProbation && failingSince !== null)
    return 'no request to it has gone well since it was ejected'
  if (state.name !== 'ejected') return null
  const until = ejectedForMs === null ? '' : ` until ${formatTime(at + ejectedForMs)}`
  return `it is ejected${until}: ${state.reason}${although}`
}

const slowFindings = (
  group: Group,
  { url, latencyMs }: EndpointReport,
  { config }: FindingInputs,
): readonly Finding[] => {
  const limitMs = config.upstreams[group].timeouts.headers
  if (latencyMs === null || limitMs === null || latencyMs < limitMs * slowShare) return []
  const cause = `${url} takes ${formatDuration(Math.round(latencyMs))} to answer of late, and is given up after ${formatDuration(limitMs)} (timeouts.headers)`
  return [createFinding('warning', aboutOf(group), cause, { command: liveCommandLine(group, config) })]
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
    createFinding(severity, aboutOf(group), cause, { since: refused.firstAt, command: liveCommandLine(group, config) }),
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
    createFinding('notice', aboutOf(group), `the retry budget of ${group} is used up: what fails is not tried again`),
  ]
}

const aboutOf = (group: Group): string => `upstreams.${group}`
