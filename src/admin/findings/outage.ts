import { catalog, type Group, groups } from '../../catalog.ts'
import type { Config } from '../../config/config.ts'
import type { AttemptReport } from '../../failures/errors.ts'
import { failures } from '../../failures/kinds.ts'
import { reasons } from '../../failures/reasons.ts'
import { earliest, outageOf } from '../../snapshot/outage.ts'
import type { EndpointReport } from '../../snapshot/report.ts'
import { timeOfDay } from '../time.ts'
import { boundOf, type Finding, finding, grouped, held, lastOf, placed, refusedOf } from './finding.ts'
import type { Reading } from './reading.ts'

// On one screen. Of more endpoints, the first tell what is wrong.
const mostEndpoints = 10

/** A group of which no endpoint serves. */
interface Outage {
  readonly group: Group
  /** When the first request failed since the last that went well, in ms since the epoch; null: nobody knows. */
  readonly since: number | null
  /** Why, in a few words. */
  readonly fact: string
}

/** Finds the groups of which no endpoint serves. What is behind several of them is told once. */
export const outageFindings = (reading: Reading): readonly Finding[] => {
  const found = groups.flatMap((group) => groupOutage(group, reading) ?? [])
  return grouped(found, ({ fact }) => fact).map((same) => outageFinding(same, reading))
}

/** Tells whether no endpoint of a group serves; null: one does, or every endpoint drains. */
export const groupOutage = (group: Group, { report, config }: Pick<Reading, 'report' | 'config'>): Outage | null => {
  const { endpoints, breaker } = report.upstreams[group]
  const takers = endpoints.filter(({ state }) => state.name !== 'draining')
  const opened = breaker?.outageSince ?? null
  const { succeededAt, failingSince } = outageOf(takers)
  // Half-open is no change for the better until a request has gone well.
  const isShut = opened !== null && (succeededAt ?? 0) <= opened
  if (takers.length === 0 || (!isShut && takers.some(serves))) return null
  const since = earliest([failingSince, opened].filter((at) => at !== null)) ?? latestOut(takers)
  const failed = [...takers.map(({ lastFailure }) => lastFailure), breaker?.lastFailure ?? null]
    .flatMap((each) => each ?? [])
    .filter(({ at }) => at >= (since ?? 0))
  return { group, since, fact: failed.length > 0 ? factsOf(failed, group, config) : shown(takers.map(stateText), '; ') }
}

/** Tells whether an endpoint answers. One that is out may do so all the same: it is the last resort where all are. */
export const serves = ({ state, succeededAt, failingSince }: EndpointReport): boolean =>
  state.name === 'up' ||
  (state.name !== 'failing' && failingSince === null && succeededAt !== null && succeededAt >= (state.since ?? 0))

const latestOut = (takers: readonly EndpointReport[]): number | null => {
  const times = takers.flatMap(({ state }) => state.since ?? [])
  return times.length === 0 ? null : Math.max(...times)
}

/** Says why a group fails, what is the same of several endpoints once: `ECONNREFUSED at http://risk-a:8080 and http://risk-b:8080`. */
const factsOf = (failed: readonly AttemptReport[], group: Group, config: Config): string => {
  const byCode = grouped([...new Map(failed.map((each) => [each.endpoint, each])).values()], (each) =>
    each.reason === null ? '' : (reasons[each.reason].code ?? ''),
  )
  return byCode
    .map((same) => {
      const [{ reason }] = same as readonly [AttemptReport, ...AttemptReport[]]
      const code = reason === null ? null : reasons[reason].code
      if (code !== null) return `${code} at ${shown(same.map(({ endpoint }) => endpoint))}`
      return shown(
        same.map((each) => lastOf(each, each.endpoint) + boundOf(each.kind, group, config)),
        '; ',
      )
    })
    .join('; ')
}

// In one sentence.
const mostNamed = 3

const shown = (names: readonly string[], between = ', '): string => {
  const more = names.length - mostNamed
  return [...names.slice(0, mostNamed), ...(more > 0 ? [`${more} more`] : [])].join(between)
}

const outageFinding = (same: readonly Outage[], reading: Reading): Finding => {
  const [{ group, fact }] = same as readonly [Outage, ...Outage[]]
  const names = same.map((each) => each.group)
  const since = earliest(same.flatMap((each) => each.since ?? []))
  const begun = since === null ? '' : ` since ${timeOfDay(since, reading.at)}`
  const cause = `no endpoint of ${listed(names)} serves${begun}${failing(names, reading)}: ${fact}`
  const command = `lender-gateway check --online ${reading.file.name}`
  return finding('critical', `upstreams.${group}`, cause, { since, command, details: details(names, reading) })
}

/** Names the operations that were asked for of late. */
const failing = (names: readonly Group[], { report, recent, config }: Reading): string => {
  const asked = catalog.filter(
    ({ id, group }) =>
      names.includes(group) &&
      ((recent?.[id].passedOn ?? 0) > 0 || report.refusals.causes.some((each) => each.operation === id && isOf(each))),
  )
  if (asked.length === 0) return ''
  const cached = asked.some(({ id }) => config.operations[id].cache !== null) ? ' that no cache answers' : ''
  return `; every request to ${listed(asked.map(({ id }) => id))}${cached} fails`
}

const isOf = ({ kind }: Reading['report']['refusals']['causes'][number]): boolean =>
  failures[kind].fault === 'upstream' || kind === 'deadline-exceeded'

const details = (names: readonly Group[], { report }: Reading): readonly string[] => {
  // What is behind several groups is behind each of them in the same way.
  const [group] = names as readonly [Group, ...Group[]]
  const { endpoints } = report.upstreams[group]
  const more = endpoints.length - mostEndpoints
  return [
    ...endpoints.slice(0, mostEndpoints).map(endpointText),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...names.flatMap((each) => breakerText(each, report)),
  ]
}

const endpointText = (endpoint: EndpointReport): string => {
  const { state, lastFailure: last, url } = endpoint
  const { requests, failures: failed } = endpoint.counts
  const counts = requests === 0 ? '' : `; ${failed} of ${requests} requests to it failed since it was opened`
  if (state.name === 'up' && last !== null) return lastOf(last, url) + counts
  const why = last === null || state.name === 'failing' ? '' : `; the last failure: ${lastOf(last, url)}`
  return stateText(endpoint) + why + counts
}

const stateText = ({ url, state: { name, reason } }: EndpointReport): string =>
  `${url} is ${name}${reason === null ? '' : `: ${reason}`}`

const breakerText = (group: Group, report: Reading['report']): readonly string[] => {
  const { breaker } = report.upstreams[group]
  if (breaker === null || breaker.state === 'closed') return []
  const refused = refusedOf(report, 'circuit-open', group)
  return [`the circuit breaker of ${group} is ${breaker.state}${placed(breaker)}${held(refused)}`]
}

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
