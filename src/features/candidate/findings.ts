import { breakerPhrase, nextTryDetails } from '../../core/admin/findings/breaker-phrases.ts'
import { clientErrorFindings, endpointFindings } from '../../core/admin/findings/endpoint-findings.ts'
import { ownerDetails } from '../../core/admin/findings/failure-phrases.ts'
import {
  type Finding,
  type Found,
  faultCommandLine,
  finding,
  unknownPlaces,
} from '../../core/admin/findings/finding.ts'
import type { FindingInputs, FindingSource } from '../../core/admin/findings/finding-inputs.ts'
import { upstreamCertificateFindings } from '../../core/admin/findings/gateway-findings.ts'
import { groupOutage } from '../../core/admin/findings/outage-findings.ts'
import { getUpstreamErrors } from '../../core/admin/findings/upstream-findings.ts'
import { askFacts } from '../../core/config/config-facts.ts'
import { type AttemptReport, lastFailurePhrase } from '../../core/exchange/failures/errors.ts'
import { failureTable } from '../../core/exchange/failures/failure-table.ts'
import { describeSide, sideKey } from '../../core/exchange/sides.ts'
import { type CommandLine, commandLine } from '../../core/lib/program.ts'
import { formatTimeOfDay } from '../../core/lib/text/format-time.ts'
import { formatShare } from '../../core/lib/text/units.ts'
import { earliest } from '../../core/runtime/status/endpoint.ts'
import { allOperations, type Group, groups } from '../../operations.ts'
import { type CandidateClients, clientConsequences, findCandidateClients, isTakenBack } from './candidate-clients.ts'
import type { DifferenceRow } from './observe/comparison-report.ts'
import { type CandidateReport, sumComparison } from './status/candidate-status.ts'
import { describeMore, describePlace } from './status/describe-comparison.ts'

export const candidateFindings: FindingSource = (inputs) =>
  groups.flatMap((group) => {
    const { candidate } = inputs.report.upstreams[group]
    if (candidate === null) return []
    const isPrimaryOut = primaryIsOut(group, inputs)
    const clients = findClients(group, candidate, isPrimaryOut, inputs)
    const seen = viewAsPrimary(group, candidate, inputs)
    const kinds = groupOutage(group, seen)?.kinds ?? [candidate.breaker?.lastFailure?.kind ?? null]
    const isHelpedByAbort = clients === 'exposed' && !isPrimaryOut
    const command = isHelpedByAbort ? commandLine('shift', group, '--abort') : faultCommandLine(group, kinds, seen)
    const found = [outageFinding(group, candidate, clients, seen, command), upstreamCertificateFindings(seen, [group])]
    const outages = clients === 'exposed' ? found.flat() : found.flat().map(atMostWarning)
    const causes = getUpstreamErrors(group, seen)
    const endpoints = groupOutage(group, seen) === null ? candidate.endpoints : null
    const others = [
      ...(endpoints?.flatMap((each) => endpointFindings(group, each, causes, seen)) ?? []),
      ...(endpoints ? clientErrorFindings(group, seen, describeSide(group, 'candidate')) : []),
    ]
    return [stopFinding(group, inputs), outages, clients === 'none' ? others.map(atMostWarning) : others]
      .flat()
      .map((each) => ({ ...each, about: sideKey(group, 'candidate') }))
  })

const primaryIsOut = (group: Group, inputs: FindingInputs): boolean =>
  inputs.report.upstreams[group].endpoints.every(({ state }) => state.name === 'draining') ||
  groupOutage(group, inputs) !== null

/** `covered` becomes `exposed` when the primary serves nothing, or failures are not retried there. */
const findClients = (
  group: Group,
  { breaker, endpoints }: CandidateReport,
  isPrimaryOut: boolean,
  { config, overrides }: FindingInputs,
): CandidateClients => {
  const clients = findCandidateClients(config.upstreams[group].candidate, overrides.shifts?.get(group))
  if (clients !== 'covered') return clients
  // A failing endpoint still gets requests; one that is down, ejected or behind a breaker does not.
  const isExposed =
    (breaker === null || breaker.state === 'closed') &&
    endpoints.some(
      ({ state, lastFailure }) =>
        state.name === 'failing' && lastFailure !== null && !goesToPrimary(group, lastFailure, config),
    )
  return isPrimaryOut || isExposed ? 'exposed' : 'covered'
}

const goesToPrimary = (group: Group, { kind, status }: AttemptReport, config: FindingInputs['config']): boolean => {
  if (kind !== null && failureTable[kind].retry === 'always') return true
  const repeats = askFacts((facts) => facts.repeats?.(config.upstreams[group], kind ?? status))
  return repeats.includes(true) && allOperations.every((each) => each.group !== group || each.method === 'GET')
}

/** A warning: the primary serves all clients. */
const stopFinding = (group: Group, { overrides }: FindingInputs): Found => {
  const shift = overrides.shifts?.get(group) ?? null
  if (!shift?.isStopped || !['guard', 'redis'].includes(shift.cause)) return []
  const about = sideKey(group, 'candidate')
  const facts = { group, shift, since: shift.since, command: commandLine('shift', group) }
  return finding('candidate-stopped', 'warning', about, facts, ({ group, shift, since }, at) => {
    const why = shift.reason === null ? '' : `: ${shift.reason}`
    const what = isTakenBack(shift)
      ? `was taken back at ${formatTimeOfDay(since, at)}`
      : `gets nothing since ${formatTimeOfDay(since, at)}, because its record in Redis was not read`
    return [`${describeSide(group, 'candidate')} ${what}${why}`]
  })
}

const atMostWarning = (finding: Finding): Finding =>
  finding.severity === 'critical' ? { ...finding, severity: 'warning' } : finding

const outageFinding = (
  group: Group,
  { endpoints, breaker }: CandidateReport,
  clients: CandidateClients,
  seen: FindingInputs,
  command: CommandLine,
): Found => {
  const name = describeSide(group, 'candidate')
  const isPassedOn =
    clients === 'exposed' && endpoints.some((each) => each.state.name === 'failing' && each.lastFailure?.kind === null)
  const consequence = isPassedOn ? ', so its clients get these responses' : clientConsequences[clients]
  const about = sideKey(group, 'candidate')
  if (endpoints.every(({ state }) => state.name === 'draining')) {
    const severity = clients === 'exposed' ? 'critical' : 'notice'
    return finding('candidate-drained', severity, about, { name, consequence }, ({ name, consequence }) => [
      `every endpoint of ${name} drains, or has weight 0${consequence}`,
    ])
  }
  const outage = groupOutage(group, seen)
  if (outage !== null) {
    const { since, fact, named } = outage
    const facts = { name, consequence, fact, owners: ownerDetails(endpoints, seen), endpoints: named, since, command }
    return finding('candidate-out', 'critical', about, facts, ({ name, consequence, fact, owners, since }, at) => {
      const begun = since === null ? '' : ` since ${formatTimeOfDay(since, at)}`
      return [`no endpoint of ${name} serves${begun}${consequence}: ${fact}`, ...owners]
    })
  }
  if (breaker === null || breaker.state === 'closed') return []
  const named = [breaker.lastFailure?.endpoint ?? []].flat()
  const facts = { name, consequence, breaker, endpoints: named, since: breaker.outageSince ?? breaker.since, command }
  return finding('candidate-breaker-not-closed', 'critical', about, facts, ({ name, consequence, breaker }, at) => {
    const { lastFailure: last } = breaker
    const why = last === null ? '' : `, because ${lastFailurePhrase(last, last.endpoint)}`
    return [`${breakerPhrase(name, breaker)}${consequence}${why}`, ...nextTryDetails(breaker, at)]
  })
}

/** Presents the candidate as its group's upstream, so that the same rules judge both. */
const viewAsPrimary = (group: Group, candidate: CandidateReport, inputs: FindingInputs): FindingInputs => {
  const { config, report } = inputs
  const ofPrimary: ReadonlySet<string | null> = new Set(report.upstreams[group].endpoints.map(({ url }) => url))
  const { upstream } = config.upstreams[group].candidate ?? { upstream: config.upstreams[group] }
  return {
    ...inputs,
    config: { ...config, upstreams: { ...config.upstreams, [group]: upstream } },
    report: {
      ...report,
      upstreams: { ...report.upstreams, [group]: { ...report.upstreams[group], ...candidate, candidate: null } },
      // Errors name endpoints by URL; those of shared endpoints are reported for the primary.
      recentErrors: {
        ...report.recentErrors,
        causes: report.recentErrors.causes.filter(({ endpoint }) => !ofPrimary.has(endpoint)),
      },
    },
  }
}

const minCompared = 20

const maxPlaces = 3

export const comparisonFindings: FindingSource = (inputs) =>
  groups.flatMap((group) => differingResponses(group, inputs))

const differingResponses = (group: Group, { config, report }: FindingInputs): Found => {
  const comparison = report.upstreams[group].candidate?.comparison ?? null
  const minEqual = config.upstreams[group].candidate?.shadow?.compare?.minEqual ?? null
  if (comparison === null || minEqual === null) return []
  const { compared, equal } = sumComparison(comparison.totals).recent
  if (compared < minCompared || equal >= minEqual * compared) return []
  const rows = comparison.rows.filter((row) => row.recent > 0)
  const since = earliest(rows.map(({ firstAt }) => firstAt))
  const differing = compared - equal
  const command = commandLine('shift', 'report', group)
  const facts = { compared, differing, rows, hasOthers: comparison.others > 0, since, command }
  return finding('responses-differ', 'warning', sideKey(group, 'candidate'), facts, (facts) => [
    `${formatShare(facts.differing, facts.compared)} of the responses of the candidate differ from those of the primary (${facts.differing} of ${facts.compared} compared in the last 5 minutes): ${placesPhrase(facts.rows, facts.hasOthers)}`,
  ])
}

const placesPhrase = (rows: readonly DifferenceRow[], hasOthers: boolean): string => {
  if (rows.length === 0) return unknownPlaces
  const places = rows.slice(0, maxPlaces).map((row) => `${row.operation} ${describePlace(row)} in ${row.recent}`)
  return `${places.join(', ')}${describeMore(hasOthers ? null : rows.length - maxPlaces)}`
}
