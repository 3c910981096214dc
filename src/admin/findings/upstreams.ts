import { type Group, groups } from '../../catalog.ts'
import { failures } from '../../errors.ts'
import type { CauseReport } from '../../observe/refusals/causes.ts'
import type { EndpointReport } from '../../snapshot/report.ts'
import { formatDuration } from '../../units.ts'
import { time } from '../time.ts'
import { clientErrorFindings } from './client-errors.ts'
import { counted, grouped, tallyOf } from './counted.ts'
import { type Finding, finding } from './finding.ts'
import type { Reading } from './reading.ts'
import { groupOf, lastOf, saidOf } from './words.ts'

// Fewer in a minute may be a hiccup of one connection, and are a warning.
const many = 3

const recentMs = 60_000

// Of the time after which its requests are given up.
const slowShare = 0.5

/** Finds what is wrong with what stands behind the groups. */
export const upstreamFindings = (reading: Reading): readonly Finding[] =>
  merged(
    groups.flatMap((group) => {
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
  )

/** Lists what went wrong at the endpoints of a group, the most frequent first. */
const causesOf = (group: Group, { report }: Reading): readonly CauseReport[] =>
  report.refusals.causes.filter(
    ({ operation, endpoint, kind }) =>
      operation !== null &&
      endpoint !== null &&
      groupOf(operation) === group &&
      (failures[kind].fault === 'upstream' || kind === 'deadline-exceeded'),
  )

const breaker = (group: Group, causes: readonly CauseReport[], reading: Reading): readonly Finding[] => {
  const { report, config } = reading
  const { breaker: state } = report.upstreams[group]
  if (state === null || state.state === 'closed') return []
  const refused = tallyOf(
    report.refusals.causes.filter(
      ({ kind, operation }) => kind === 'circuit-open' && operation !== null && groupOf(operation) === group,
    ),
  )
  const [first] = causes
  const why =
    first === undefined ? lastWhy(report.upstreams[group].endpoints) : saidOf(first, first.endpoint ?? '', config)
  const where = state.where === null ? '' : ` ${state.where}`
  const held = refused.lastQuarter === 0 ? '' : `: ${counted(refused, 'refused')}`
  const does =
    state.state === 'open'
      ? 'so nothing is sent to it'
      : 'so only a few requests are sent, to find out whether it is well'
  const cause = `the circuit breaker of ${group} is ${state.state}${where}, ${does}${why === null ? '' : `, because ${why}`}${held}`
  const severity = state.state === 'open' ? 'critical' : 'warning'
  return [finding(severity, aboutOf(group), cause, { since: state.since, command: onlineCommand(reading) })]
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
    ({ kind, reason }) => lastOf({ at: 0, kind, reason, status: null }, url),
  )
  const alone = !reading.report.upstreams[group].endpoints.some((other) => other !== each && isUp(other))
  const failing = own.map((same, i): Finding => {
    const tally = tallyOf(same)
    const severity = tally.lastMinute >= many ? 'critical' : tally.lastMinute > 0 || out !== null ? 'warning' : 'notice'
    const cause = `${saidOf(same[0] as CauseReport, url, reading.config)}: ${counted(tally, 'failed')}`
    const also = i === 0 && out !== null ? `; ${out}` : ''
    return finding(severity, about, cause + also, { since: tally.firstAt, command })
  })
  if (failing.length > 0) return [...failing, ...outdated(about, each, command)]
  const last = lastWhy([each])
  if (out !== null) {
    const cause = state.name === 'ejected' && last !== null ? `${last}; ${out}` : `${url}: ${out}`
    return [finding(alone ? 'critical' : 'warning', about, cause, { since: state.since, command })]
  }
  return [...outdated(about, each, command), ...stumbled(about, each, reading.at), ...slow(group, each, reading)]
}

/** Says why a request failed last at any of them; null: none has. */
const lastWhy = (endpoints: readonly EndpointReport[]): string | null => {
  const failed = endpoints.flatMap(({ url, lastFailure }) => (lastFailure === null ? [] : [{ url, lastFailure }]))
  const [last] = failed.sort((a, b) => b.lastFailure.at - a.lastFailure.at)
  return last === undefined ? null : lastOf(last.lastFailure, last.url)
}

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

/** Says why an endpoint gets nothing, or as little as can be; null: it is not out. */
const outOf = ({ state, ejectedForMs }: EndpointReport, at: number): string | null => {
  if (state.name === 'down') return `it is down: ${state.reason}`
  if (state.name !== 'ejected') return null
  const until = ejectedForMs === null ? '' : ` until ${time(at + ejectedForMs)}`
  return `it is ejected${until}: ${state.reason}`
}

const isUp = ({ state }: EndpointReport): boolean => state.name === 'up'

const slow = (group: Group, { url, latencyMs }: EndpointReport, { config }: Reading): readonly Finding[] => {
  const bound = config.upstreams[group].headersTimeoutMs
  if (latencyMs === null || bound === null || latencyMs < bound * slowShare) return []
  const cause = `${url} takes ${formatDuration(Math.round(latencyMs))} to answer of late, and is given up after ${formatDuration(bound)} (timeouts.headers)`
  return [finding('warning', aboutOf(group), cause, { command: statusCommand })]
}

const nobody = (group: Group, endpoints: readonly EndpointReport[], { report }: Reading): readonly Finding[] => {
  if (endpoints.some(({ state }) => state.name !== 'draining')) return []
  const refused = tallyOf(
    report.refusals.causes.filter(
      ({ kind, operation }) => kind === 'no-healthy-endpoint' && operation !== null && groupOf(operation) === group,
    ),
  )
  const held = refused.lastQuarter === 0 ? '' : `: ${counted(refused, 'refused')}`
  const cause = `every endpoint of ${group} drains, or has weight 0, so nobody answers${held}`
  return [finding('critical', aboutOf(group), cause, { since: refused.firstAt, command: statusCommand })]
}

const budget = (group: Group, { report }: Reading): readonly Finding[] => {
  const { retryBudget } = report.upstreams[group]
  if (retryBudget === null || retryBudget.left >= 1) return []
  return [finding('notice', aboutOf(group), `the retry budget of ${group} is used up: what fails is not tried again`)]
}

/** Says once what is the same behind several groups. */
const merged = (found: readonly Finding[]): readonly Finding[] =>
  grouped(found, ({ severity, cause }) => `${severity} ${cause}`).map((same) => {
    const [first, ...others] = same as readonly [Finding, ...Finding[]]
    const named = others.map(({ about }) => about.replace('upstreams.', ''))
    return named.length === 0 ? first : { ...first, cause: `${first.cause} (the same behind ${named.join(', ')})` }
  })

const aboutOf = (group: Group): string => `upstreams.${group}`

const onlineCommand = ({ file }: Reading): string => `lender-gateway check --online ${file.name}`
const statusCommand = 'lender-gateway status'
