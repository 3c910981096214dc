import { allOperations, type Group } from '../../../operations.ts'
import { lastFailurePhrase } from '../../exchange/failures/errors.ts'
import { sideKey } from '../../exchange/sides.ts'
import { commandLine } from '../../lib/program.ts'
import { formatTime, formatTimeOfDay } from '../../lib/text/format-time.ts'
import { formatDuration } from '../../lib/text/units.ts'
import type { ErrorCount } from '../../log/recent-errors.ts'
import { groupByKey, pluck, sum } from '../../log/sum-reports.ts'
import type { EndpointReport } from '../../runtime/status/endpoint.ts'
import {
  causePhrase,
  countPhrase,
  type FailureTally,
  isQuiet,
  minFailures,
  ownerDetails,
  recentMs,
  tallyFailures,
} from './failure-phrases.ts'
import {
  type Finding,
  type Found,
  faultCommandLine,
  finding,
  liveCommandLine,
  renderFinding,
  tryCommandLine,
} from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'
import { isServing, mayBeStored } from './outage-findings.ts'

const slowShare = 0.5 // of the requests' timeout

export const endpointFindings = (
  group: Group,
  each: EndpointReport,
  causes: readonly ErrorCount[],
  inputs: FindingInputs,
): readonly Finding[] => {
  const own = causes.filter(({ endpoint }) => endpoint === each.url)
  const out = outagePhrase(each, inputs.at)
  const stale = staleAddressFinding(group, each, inputs)
  if (own.length > 0) return [failingEndpointFinding(group, each, own, out, inputs), stale].flat()
  return out === null
    ? [stale, recoveredFailureFinding(group, each, inputs), slowFinding(group, each, inputs)].flat()
    : [endpointOutageFinding(group, each, out, [stale].flat(), inputs)]
}

/** `out`: why the endpoint gets no requests. */
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
  const failures = groupByKey(
    errors,
    // Keyed by text: one reason has two texts, before and after the response head.
    ({ kind, reason }) => lastFailurePhrase({ kind, reason, status: null }, url),
  ).map((same) => ({ cause: causePhrase(same[0], url, inputs), tally: tallyFailures(same) }))
  const severity =
    tally.lastMinute >= minFailures && quietSince === null && !isOutOfRotation(state)
      ? 'critical'
      : tally.lastMinute > 0 || out !== null
        ? 'warning'
        : 'notice'
  const kinds = errors.map(({ kind }) => kind)
  const facts = {
    ...{ failures, quietSince, out, owners: ownerDetails([each], inputs), endpoints: [url] },
    since: each.failingSince ?? (state.name === 'draining' ? null : state.since) ?? tally.firstAt,
    command: faultCommandLine(group, kinds, inputs),
  }
  return finding('endpoint-fails', severity, sideKey(group, 'primary'), facts, (facts, at) => {
    const [cause = '', ...details] = facts.failures.map(
      ({ cause, tally }) => `${cause}: ${countPhrase(tally, 'failed')}`,
    )
    const quiet = facts.quietSince === null ? '' : `, none since ${formatTimeOfDay(facts.quietSince, at)}`
    return [`${cause}${quiet}${facts.out === null ? '' : `; ${facts.out}`}`, ...details, ...facts.owners]
  })
}

/** For an endpoint without recent failures of requests. */
const endpointOutageFinding = (
  group: Group,
  each: EndpointReport,
  out: string,
  others: readonly Finding[],
  inputs: FindingInputs,
): Finding => {
  const { state, url, lastFailure } = each
  const facts = {
    ...{ url, state, lastFailure, out, others, owners: ownerDetails([each], inputs), endpoints: [url] },
    since: each.failingSince ?? state.since,
    command: faultCommandLine(group, each.failingSince === null ? [] : [lastFailure?.kind ?? null], inputs),
  }
  return finding(
    'endpoint-out',
    'warning',
    sideKey(group, 'primary'),
    facts,
    ({ url, lastFailure: last, ...facts }, at) => [
      `${facts.state.name !== 'down' && last !== null ? `${lastFailurePhrase(last, url)};` : `${url}:`} ${facts.out}`,
      ...facts.others.map((one) => renderFinding(one, at).cause),
      ...facts.owners,
    ],
  )
}

/** Null: failures continue, or ended long ago. */
const getQuietSince = ({ lastMinute, lastAt }: FailureTally, at: number): number | null =>
  lastMinute > 0 && lastAt !== null && isQuiet(lastAt, at) ? lastAt : null

/** Failures end when other endpoints get the requests. */
const isOutOfRotation = ({ name }: EndpointReport['state']): boolean => name === 'down' || name === 'ejected'

const staleAddressFinding = (group: Group, { url, outdated }: EndpointReport, inputs: FindingInputs): Found => {
  if (outdated === null) return []
  const facts = { ...outdated, url, endpoints: [url], command: tryCommandLine(group, inputs) }
  return finding('name-not-found', 'warning', sideKey(group, 'primary'), facts, ({ url, reason }) => [
    `the host name of ${url} cannot be resolved any more: ${reason}; requests still go to its last known address`,
  ])
}

/** Failures after which another attempt succeeded, or the endpoint's own error was relayed. */
const recoveredFailureFinding = (group: Group, { url, lastFailure }: EndpointReport, inputs: FindingInputs): Found => {
  const { at, config } = inputs
  if (lastFailure === null || at - lastFailure.at > recentMs) return []
  const hasStored = allOperations.some(({ id, group: of }) => of === group && mayBeStored(id, inputs))
  const command = liveCommandLine(group, config)
  const facts = { url, lastFailure, hasStored, endpoints: [url], since: lastFailure.at, command }
  return finding('endpoint-failed', 'notice', sideKey(group, 'primary'), facts, ({ url, lastFailure, hasStored }) => {
    const passedOn = `which is passed on${hasStored ? ', unless a stored response stands in for it' : ''}`
    const other = lastFailure.kind === null ? passedOn : 'and another attempt was made'
    return [`${lastFailurePhrase(lastFailure, url)}, ${other}`]
  })
}

const outagePhrase = (endpoint: EndpointReport, at: number): string | null => {
  const { state, ejectedForMs, failingSince, onProbation } = endpoint
  const although = isServing(endpoint) ? ', but still responds' : ''
  if (state.name === 'down') return `it is down: ${state.reason}${although}`
  if (state.name === 'failing') return 'its last requests failed'
  if (state.name === 'up' && onProbation && failingSince !== null)
    return 'no request to it has succeeded since it was ejected'
  if (state.name !== 'ejected') return null
  const until = ejectedForMs === null ? '' : ` until ${formatTime(at + ejectedForMs)}`
  return `it is ejected${until}: ${state.reason}${although}`
}

const slowFinding = (group: Group, { url, latencyMs }: EndpointReport, { config }: FindingInputs): Found => {
  const limitMs = config.upstreams[group].timeouts.headers
  if (latencyMs === null || limitMs === null || latencyMs < limitMs * slowShare) return []
  const facts = { url, latencyMs, limitMs, endpoints: [url], command: liveCommandLine(group, config) }
  return finding('endpoint-slow', 'warning', sideKey(group, 'primary'), facts, ({ url, latencyMs, limitMs }) => [
    `${url} takes ${formatDuration(Math.round(latencyMs))} to respond, and is given up after ${formatDuration(limitMs)} (timeouts.headers)`,
  ])
}

const minRequests = 20

// A smaller excess is harmless, even if it is certain.
const minExcess = 0.2

// In standard errors: chance alone hardly singles out one of 1,000 equal endpoints in a day of windows.
const minCertainty = 5

/**
 * A 4xx may be the client's fault, so it ejects no endpoint. But clients do not choose the endpoint, so the shares of
 * 4xx should be equal: a two-proportion test.
 */
export const clientErrorFindings = (
  group: Group,
  { report }: FindingInputs,
  name: string = group,
): readonly Finding[] => {
  const active = report.upstreams[group].endpoints.filter(({ state }) => state.name !== 'draining')
  return active.flatMap((each) => {
    const own = each.recentResponses
    const others = sumResponses(active.filter((other) => other !== each))
    if (!isOutlier(own, others)) return []
    const { url } = each
    const facts = { url, name, own, others, endpoints: [url], command: commandLine('endpoint', 'drain', group, url) }
    return finding('endpoint-responds-4xx', 'warning', `upstreams.${group}`, facts, ({ url, name, own, others }) => [
      `${url} responds to ${percent(own)} of its requests with a 4xx, the other endpoints of ${name} to ${percent(others)} (of ${own.requests} and ${others.requests} requests in the last 5 minutes): it may be another version, or stand at another path`,
    ])
  })
}

type ResponseCounts = EndpointReport['recentResponses']

const sumResponses = (endpoints: readonly EndpointReport[]): ResponseCounts => {
  const responses = pluck(endpoints, 'recentResponses')
  return { requests: sum(pluck(responses, 'requests')), clientErrors: sum(pluck(responses, 'clientErrors')) }
}

const isOutlier = (own: ResponseCounts, others: ResponseCounts): boolean => {
  if (own.requests < minRequests || others.requests < minRequests) return false
  const excess = clientErrorShare(own) - clientErrorShare(others)
  const common = (own.clientErrors + others.clientErrors) / (own.requests + others.requests)
  const deviation = Math.sqrt(common * (1 - common) * (1 / own.requests + 1 / others.requests))
  return excess >= minExcess && excess >= minCertainty * deviation
}

const clientErrorShare = ({ clientErrors, requests }: ResponseCounts): number => clientErrors / requests

const percent = (responses: ResponseCounts): string => `${Math.round(clientErrorShare(responses) * 100)} %`
