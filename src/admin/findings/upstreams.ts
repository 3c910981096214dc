import { type Group, groups } from '../../catalog.ts'
import { failures } from '../../failures/kinds.ts'
import type { CauseReport } from '../../observe/refusals/causes.ts'
import type { EndpointReport } from '../../snapshot/report.ts'
import { formatDuration } from '../../units.ts'
import { time, timeOfDay } from '../time.ts'
import { clientErrorFindings } from './client-errors.ts'
import {
  boundOf,
  counted,
  type Finding,
  finding,
  grouped,
  groupOf,
  held,
  lastOf,
  merged,
  placed,
  refusedOf,
  saidOf,
  type Tally,
  tallyOf,
} from './finding.ts'
import { groupOutage, outageFindings, serves } from './outage.ts'
import type { Reading } from './reading.ts'

// Fewer in a minute may be a hiccup of one connection, and are a warning.
const many = 3

const recentMs = 60_000

// Where none has failed for so long, requests fail no more: it has come back, or others have its work.
const calmMs = 15_000

// Of the time after which its requests are given up.
const slowShare = 0.5

/** Finds what is wrong with what stands behind the groups. Of one that does not serve, that is all that is said. */
export const upstreamFindings = (reading: Reading): readonly Finding[] => [
  ...outageFindings(reading),
  ...merged(
    groups
      .filter((group) => groupOutage(group, reading) === null)
      .flatMap((group) => {
        const { endpoints } = reading.report.upstreams[group]
        const causes = causesOf(group, reading)
        return [
          ...breaker(group, causes, reading),
          ...endpoints.flatMap((each) => endpoint(group, each, causes, reading)),
          ...nobody(group, endpoints, reading),
          ...budget(group, reading),
          ...clientErrorFindings(group, reading),
        ]
      }),
  ),
]

/** Lists what went wrong at the endpoints of a group, the most frequent first. */
const causesOf = (group: Group, { report }: Reading): readonly CauseReport[] =>
  report.refusals.causes.filter(
    ({ operation, endpoint, kind }) =>
      operation !== null &&
      endpoint !== null &&
      groupOf(operation) === group &&
      (failures[kind].fault === 'upstream' || kind === 'deadline-exceeded'),
  )

/** Finds a breaker that is not closed though some requests go well. Half-open is as bad as open: it has not found out yet. */
const breaker = (group: Group, causes: readonly CauseReport[], reading: Reading): readonly Finding[] => {
  const { report, config } = reading
  const { breaker: state } = report.upstreams[group]
  if (state === null || state.state === 'closed') return []
  const { lastFailure: last } = state
  const [first] = causes
  const why =
    last !== null
      ? lastOf(last, last.endpoint) + boundOf(last.kind, group, config)
      : first && saidOf(first, first.endpoint ?? '', config)
  const does =
    state.state === 'open'
      ? 'so nothing is sent to it'
      : 'so only a few requests are sent, to find out whether it is well'
  const cause = `the circuit breaker of ${group} is ${state.state}${placed(state)}, ${does}${why === undefined ? '' : `, because ${why}`}${held(refusedOf(report, 'circuit-open', group))}`
  const since = state.outageSince ?? state.since
  return [finding('critical', aboutOf(group), cause, { since, command: onlineCommand(reading) })]
}

const endpoint = (
  group: Group,
  each: EndpointReport,
  causes: readonly CauseReport[],
  reading: Reading,
): readonly Finding[] => {
  const { state, url } = each
  const about = aboutOf(group)
  const command = onlineCommand(reading)
  const out = outOf(each, reading.at)
  const own = grouped(
    causes.filter((cause) => cause.endpoint === url),
    // By what is said of it: a connection may be closed before the head of the answer and behind it.
    ({ kind, reason }) => lastOf({ kind, reason, status: null }, url),
  )
  const others = outdated(about, each, command)
  if (own.length > 0) {
    const tally = tallyOf(own.flat())
    const calmSince = calmSinceOf(tally, reading.at)
    const said = own.map(
      (same) => `${saidOf(same[0] as CauseReport, url, reading.config)}: ${counted(tallyOf(same), 'failed')}`,
    )
    const [cause = '', ...details] = said
    const severity =
      tally.lastMinute >= many && calmSince === null && !isSpared(state)
        ? 'critical'
        : tally.lastMinute > 0 || out !== null
          ? 'warning'
          : 'notice'
    const also = `${calmSince === null ? '' : `, none since ${timeOfDay(calmSince, reading.at)}`}${out === null ? '' : `; ${out}`}`
    return [
      finding(severity, about, cause + also, {
        since: each.failingSince ?? state.since ?? tally.firstAt,
        command,
        details,
      }),
      ...others,
    ]
  }
  if (out === null) return [...others, ...stumbled(about, each, reading.at), ...slow(group, each, reading)]
  const { lastFailure: last } = each
  const cause = state.name !== 'down' && last !== null ? `${lastOf(last, url)}; ${out}` : `${url}: ${out}`
  return [
    finding('warning', about, cause, {
      since: each.failingSince ?? state.since,
      command,
      details: others.map((one) => one.cause),
    }),
  ]
}

/** Tells when the last request of those that failed within a minute did, where none has for a while; null: they go on, or are long over. */
const calmSinceOf = ({ lastMinute, lastAt }: Tally, at: number): number | null =>
  lastMinute > 0 && lastAt !== null && at - lastAt >= calmMs ? lastAt : null

/** Tells whether an endpoint is left alone while others serve: what failed there has failed, and does so no more. */
const isSpared = ({ name }: EndpointReport['state']): boolean => name === 'down' || name === 'ejected'

const outdated = (about: string, { url, outdated: since }: EndpointReport, command: string): readonly Finding[] => {
  if (since === null) return []
  const cause = `the name of ${url} is not found any more: ${since.reason}; what it was before is used on`
  return [finding('warning', about, cause, { since: since.since, command })]
}

/** Finds what failed at an endpoint and was answered all the same: by another one, or by its own error, which is passed on. */
const stumbled = (about: string, { url, lastFailure }: EndpointReport, at: number): readonly Finding[] => {
  if (lastFailure === null || at - lastFailure.at > recentMs) return []
  const other = lastFailure.kind === null ? 'which is passed on' : 'and another attempt was made'
  const cause = `${lastOf(lastFailure, url)}, ${other}`
  return [finding('notice', about, cause, { since: lastFailure.at, command: statusCommand })]
}

/** Says why an endpoint gets nothing, or as little as can be, or nothing good comes of it; null: it is up. */
const outOf = (endpoint: EndpointReport, at: number): string | null => {
  const { state, ejectedForMs } = endpoint
  const although = serves(endpoint) ? ', and answers all the same' : ''
  if (state.name === 'down') return `it is down: ${state.reason}${although}`
  if (state.name === 'failing') return 'no request to it goes well any more'
  if (state.name !== 'ejected') return null
  const until = ejectedForMs === null ? '' : ` until ${time(at + ejectedForMs)}`
  return `it is ejected${until}: ${state.reason}${although}`
}

const slow = (group: Group, { url, latencyMs }: EndpointReport, { config }: Reading): readonly Finding[] => {
  const bound = config.upstreams[group].timeouts.headers
  if (latencyMs === null || bound === null || latencyMs < bound * slowShare) return []
  const cause = `${url} takes ${formatDuration(Math.round(latencyMs))} to answer of late, and is given up after ${formatDuration(bound)} (timeouts.headers)`
  return [finding('warning', aboutOf(group), cause, { command: statusCommand })]
}

const nobody = (group: Group, endpoints: readonly EndpointReport[], { report }: Reading): readonly Finding[] => {
  if (endpoints.some(({ state }) => state.name !== 'draining')) return []
  const refused = refusedOf(report, 'no-healthy-endpoint', group)
  const cause = `every endpoint of ${group} drains, or has weight 0, so nobody answers${held(refused)}`
  return [finding('critical', aboutOf(group), cause, { since: refused.firstAt, command: statusCommand })]
}

const budget = (group: Group, { report }: Reading): readonly Finding[] => {
  const { retryBudget } = report.upstreams[group]
  if (retryBudget === null || retryBudget.left >= 1) return []
  return [finding('notice', aboutOf(group), `the retry budget of ${group} is used up: what fails is not tried again`)]
}

const aboutOf = (group: Group): string => `upstreams.${group}`

const onlineCommand = ({ file }: Reading): string => `lender-gateway check --online ${file.name}`
const statusCommand = 'lender-gateway status'
