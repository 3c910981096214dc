import { allOperations, type Group, groups, type OperationId } from '../../../operations.ts'
import { askFacts } from '../../config/config-facts.ts'
import { type AttemptReport, lastFailurePhrase, reasonTable } from '../../exchange/failures/errors.ts'
import { mayBeUpstreamFault } from '../../exchange/failures/failure-table.ts'
import { sideKey } from '../../exchange/sides.ts'
import { formatTimeOfDay } from '../../lib/text/format-time.ts'
import { groupByKey, type NonEmpty, sum } from '../../log/sum-reports.ts'
import { type EndpointReport, earliest, mergeOutageWindows } from '../../runtime/status/endpoint.ts'
import type { GroupClients } from '../admin-context.ts'
import { joinFirst, pluralize } from '../commands/phrases.ts'
import { breakerPhrase, nextTryDetails } from './breaker-phrases.ts'
import { limitPhrase, ownerDetails, recentMs, rejectedPhrase, tallyRejected } from './failure-phrases.ts'
import { type Finding, faultCommandLine, finding, joinWithAnd } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

const maxEndpoints = 10

/** Groups that share all their endpoints share a finding. */
export const outageFindings = (inputs: FindingInputs): readonly Finding[] => {
  const { config, overrides, findClients } = inputs
  const found = groups.flatMap((group) => {
    const outage = groupOutage(group, inputs)
    const clients = findClients(group, config, overrides).primary
    return outage === null ? [] : [{ ...outage, clients }]
  })
  return groupByKey(found, ({ fact, clients }) => `${clients} ${fact}`).map((same) => outageFinding(same, inputs))
}

/** Null: an endpoint serves, or every endpoint drains. */
export const groupOutage = (group: Group, inputs: Pick<FindingInputs, 'report' | 'config' | 'loadedAt'>) => {
  const { endpoints, breaker } = inputs.report.upstreams[group]
  const takers = endpoints.filter(({ state }) => state.name !== 'draining')
  const opened = breaker?.outageSince ?? null
  const { succeededAt, failingSince } = mergeOutageWindows(takers)
  // A half-open breaker counts as open until a request has succeeded.
  const isShut = opened !== null && (succeededAt ?? 0) <= opened
  if (takers.length === 0 || (!isShut && takers.some(isServing))) return null
  const since = earliest([failingSince, opened].filter((at) => at !== null)) ?? latestOutageStart(takers)
  const failed = [...takers.map(({ lastFailure }) => lastFailure), breaker?.lastFailure ?? null]
    .flatMap((each) => each ?? [])
    .filter(({ at }) => at >= (since ?? 0))
  return {
    group,
    /** The first failure after the last success; null: unknown. */
    since,
    /** Null: the endpoint responded. */
    kinds: failed.map(({ kind }) => kind),
    ...(failed.length > 0
      ? describeFailures(failed, group, inputs)
      : {
          fact: joinFirst(takers.map(stateText), maxNamed, '; '),
          named: takers.slice(0, maxNamed).map(({ url }) => url),
        }),
  }
}

/** When all endpoints are ejected, an ejected endpoint may serve as the last resort. */
export const isServing = ({ state, succeededAt, failingSince }: EndpointReport): boolean =>
  state.name === 'up' ||
  (state.name !== 'failing' && failingSince === null && succeededAt !== null && succeededAt >= (state.since ?? 0))

const latestOutageStart = (takers: readonly EndpointReport[]): number | null => {
  const times = takers.flatMap(({ state }) => state.since ?? [])
  return times.length === 0 ? null : Math.max(...times)
}

/** Names a common cause once: `ECONNREFUSED at http://risk-a:8080 and http://risk-b:8080`. */
const describeFailures = (
  failed: readonly AttemptReport[],
  group: Group,
  inputs: Pick<FindingInputs, 'config' | 'loadedAt'>,
): { readonly fact: string; readonly named: readonly string[] } => {
  const byCode = groupByKey([...new Map(failed.map((each) => [each.endpoint, each])).values()], (each) =>
    each.reason === null ? '' : (reasonTable[each.reason].code ?? ''),
  )
  const facts = byCode.map((same) => {
    const [{ reason }] = same
    const code = reason === null ? null : reasonTable[reason].code
    const names = same.map(({ endpoint }) => endpoint)
    if (code !== null) return `${code} at ${joinFirst(names, maxNamed)}`
    const phrases = same.map((each) => lastFailurePhrase(each, each.endpoint) + limitPhrase(each, group, inputs))
    return joinFirst(phrases, maxNamed, '; ')
  })
  const named = byCode.flatMap((same) => same.slice(0, maxNamed).map(({ endpoint }) => endpoint))
  return { fact: facts.join('; '), named }
}

type PrimaryOutage = NonNullable<ReturnType<typeof groupOutage>> & { readonly clients: GroupClients['primary'] }

// The details list further endpoints.
const maxNamed = 3

const outageFinding = (same: NonEmpty<PrimaryOutage>, inputs: FindingInputs): Finding => {
  const [{ group, fact, named, clients }] = same
  const names = same.map((each) => each.group)
  const since = earliest(same.flatMap((each) => each.since ?? []))
  const quiet = quietPhrase(names, inputs)
  const kinds = same.flatMap((each) => each.kinds)
  const urls = inputs.report.upstreams[group].endpoints.slice(0, maxEndpoints).map(({ url }) => url)
  const facts = {
    ...{ names, fact, follows: quiet ?? consequences[clients](names, inputs), since },
    alsoAbout: names.slice(1).map((each) => sideKey(each, 'primary')),
    endpoints: [...urls, ...named],
    command: faultCommandLine(group, kinds, inputs),
  }
  const severity = clients === 'none' || quiet !== null ? 'warning' : 'critical'
  return finding('group-out', severity, sideKey(group, 'primary'), facts, ({ names, fact, since, follows }, at) => {
    const begun = since === null ? '' : ` since ${formatTimeOfDay(since, at)}`
    return [`no endpoint of ${joinWithAnd(names)} serves${begun}${follows}: ${fact}`, ...outageDetails(names, inputs)]
  })
}

/** Without requests, the gateway cannot see a recovery. Null: requests come, or a health check fails. */
const quietPhrase = (names: readonly Group[], { report, recent, at }: FindingInputs): string | null => {
  const came = allOperations.some(({ id, group }) => names.includes(group) && recent?.[id].requests !== 0)
  const endpoints = names.flatMap((group) => report.upstreams[group].endpoints)
  if (came || endpoints.some(({ state, inFlight }) => state.name === 'down' || inFlight > 0)) return null
  const lastAt = Math.max(...endpoints.map(({ lastFailure }) => lastFailure?.at ?? 0))
  if (lastAt === 0 || at - lastAt <= recentMs) return null
  // Endpoints that several groups share are in the same state for each of them.
  const failed = new Map(endpoints.map(({ url, failuresInARow }) => [url, failuresInARow]))
  const count = sum([...failed.values()])
  return `; no request has been sent there since ${formatTimeOfDay(lastAt, at)}, ${count < 2 ? 'the last one' : `the last ${count}`} failed`
}

type Consequence = (names: readonly Group[], inputs: FindingInputs) => string

const consequences: Readonly<Record<GroupClients['primary'], Consequence>> = {
  all: (names, inputs) => failingOperations(names, inputs, (what) => `every request to ${what} fails`),
  some: (names, inputs) =>
    failingOperations(names, inputs, (what) => `requests to ${what} fail, except for clients on the candidate`),
  none: () => '; every client is on the candidate, which has no primary to fall back on',
}

const failingOperations = (names: readonly Group[], inputs: FindingInputs, say: (what: string) => string): string => {
  const { report, recent } = inputs
  const affected = allOperations.filter(
    ({ id, group }) =>
      names.includes(group) &&
      ((recent?.[id].passedOn ?? 0) > 0 ||
        report.recentErrors.causes.some((each) => each.operation === id && mayBeUpstreamFault(each.kind))),
  )
  if (affected.length === 0) return ''
  const cached = affected.some(({ id }) => mayBeStored(id, inputs)) ? ' that no cache serves' : ''
  return `; ${say(`${joinWithAnd(affected.map(({ id }) => id))}${cached}`)}`
}

export const mayBeStored = (id: OperationId, { config }: FindingInputs): boolean =>
  askFacts((facts) => facts.isStored?.(config.operations[id])).includes(true)

const outageDetails = (names: readonly Group[], inputs: FindingInputs): readonly string[] => {
  const { report, at, undoableEditAt } = inputs
  // Endpoints that several groups share are in the same state for each of them.
  const [group] = names as readonly [Group, ...Group[]]
  const { endpoints } = report.upstreams[group]
  const more = endpoints.length - maxEndpoints
  return [
    ...endpoints.slice(0, maxEndpoints).map((each) => endpointText(each, at)),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...names.flatMap((each) => breakerText(each, report, at)),
    // If no endpoint has ever responded, the last edit may have brought a wrong address.
    ...(undoableEditAt !== null && endpoints.every(({ succeededAt }) => succeededAt === null)
      ? [
          `no request there has succeeded yet: lender-gateway rollback undoes the last edit, of ${formatTimeOfDay(undoableEditAt, at)}`,
        ]
      : []),
    ...ownerDetails(endpoints.slice(0, maxEndpoints), inputs),
  ]
}

const endpointText = (endpoint: EndpointReport, at: number): string => {
  const { state, lastFailure: last, url, failuresInARow, countedSince } = endpoint
  const { requests, failures: failed } = endpoint
  const counts =
    requests === 0 ? '' : `; ${failed} of ${requests} requests to it failed since ${formatTimeOfDay(countedSince, at)}`
  if (state.name === 'failing') return stateText(endpoint) + counts
  const row = failuresInARow === 0 ? '' : `; no success since ${pluralize(failuresInARow, 'failure')}`
  if (state.name === 'up' && last !== null) return lastFailurePhrase(last, url) + row + counts
  const phrase = last === null ? '' : lastFailurePhrase(last, url)
  const isTold = state.reason?.replace('the endpoint', url).startsWith(phrase) ?? phrase === ''
  const why = isTold ? '' : `; the last failure: ${phrase}`
  return stateText(endpoint) + why + row + counts
}

const stateText = ({ url, state: { name, reason } }: EndpointReport): string =>
  `${url} is ${name}${reason === null ? '' : `: ${reason}`}`

const breakerText = (group: Group, report: FindingInputs['report'], at: number): readonly string[] => {
  const { breaker } = report.upstreams[group]
  if (breaker === null || breaker.state === 'closed') return []
  const rejected = tallyRejected(report, 'circuit-open', group)
  return [`${breakerPhrase(group, breaker)}${rejectedPhrase(rejected)}`, ...nextTryDetails(breaker, at)]
}
