import { allOperations, type Group } from '../../../operations.ts'
import { sideKey } from '../../exchange/sides.ts'
import { formatDuration } from '../../lib/text/units.ts'
import type { ErrorCount } from '../../log/recent-errors/error-counts.ts'
import { groupByKey } from '../../log/row-counts.ts'
import type { EndpointReport } from '../../runtime/report/status-report.ts'
import { formatTime, formatTimeOfDay } from '../format-time.ts'
import { countPhrase, type FailureTally, isQuiet, minFailures, tallyFailures } from './failure-tally.ts'
import { causePhrase, createFinding, type Finding, lastFailurePhrase, recentMs } from './finding.ts'
import { faultCommandLine, liveCommandLine, tryCommandLine } from './finding-commands.ts'
import type { FindingInputs } from './finding-inputs.ts'
import { isServing } from './outage.ts'
import { ownerDetails } from './owner-details.ts'

// Of the timeout of its requests.
const slowShare = 0.5

/** `causes`: the recent errors of its group. */
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

/** `errors`: its recent ones; `out`: why it gets no requests, if that is so. */
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
  ).map((same) => `${causePhrase(same[0], url, inputs)}: ${countPhrase(tallyFailures(same), 'failed')}`)
  const severity =
    tally.lastMinute >= minFailures && quietSince === null && !isOutOfRotation(state)
      ? 'critical'
      : tally.lastMinute > 0 || out !== null
        ? 'warning'
        : 'notice'
  const quiet = quietSince === null ? '' : `, none since ${formatTimeOfDay(quietSince, inputs.at)}`
  return createFinding(severity, sideKey(group, 'primary'), `${cause}${quiet}${out === null ? '' : `; ${out}`}`, {
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
  return createFinding('warning', sideKey(group, 'primary'), cause, {
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
  lastMinute > 0 && lastAt !== null && isQuiet(lastAt, at) ? lastAt : null

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
  return [createFinding('warning', sideKey(group, 'primary'), cause, { since, command: tryCommandLine(group, inputs) })]
}

/** Finds failures at an endpoint that cost no request: another attempt was made, or its own error was relayed. */
const recoveredFailureFindings = (
  group: Group,
  { url, lastFailure }: EndpointReport,
  { at, config }: FindingInputs,
): readonly Finding[] => {
  if (lastFailure === null || at - lastFailure.at > recentMs) return []
  const isCached = allOperations.some((each) => each.group === group && config.operations[each.id].cache !== null)
  const passedOn = `which is passed on${isCached ? ', unless a stored response stands in for it' : ''}`
  const other = lastFailure.kind === null ? passedOn : 'and another attempt was made'
  const cause = `${lastFailurePhrase(lastFailure, url)}, ${other}`
  return [
    createFinding('notice', sideKey(group, 'primary'), cause, {
      since: lastFailure.at,
      command: liveCommandLine(group, config),
    }),
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
  return [createFinding('warning', sideKey(group, 'primary'), cause, { command: liveCommandLine(group, config) })]
}
