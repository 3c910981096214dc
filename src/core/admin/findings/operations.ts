import { isIP } from 'node:net'
import { findCandidateClients } from '../../../features/candidate/candidate-clients.ts'
import { allOperations, type Group, groups } from '../../../operations.ts'
import { failureText } from '../../exchange/failures/reasons.ts'
import { shellQuote } from '../../lib/program-command.ts'
import type { ErrorCount } from '../../log/recent-errors/error-counts.ts'
import { groupByKey } from '../../log/row-counts.ts'
import { toEndpointKey } from '../../runtime/overrides.ts'
import type { EndpointReport } from '../../runtime/report/status-report.ts'
import { orderReasonPhrase } from '../commands/apply-override.ts'
import { pluralize } from '../commands/phrases.ts'
import { formatTime, formatTimeOfDay } from '../format-time.ts'
import { stepSeconds } from '../rate-history.ts'
import { areMostFailing, countPhrase, isQuiet, rejectedPhrase, tallyFailures } from './failure-tally.ts'
import { createFinding, type Finding, lastFailurePhrase } from './finding.ts'
import { explainCommandLine, tailCommand } from './finding-commands.ts'
import type { FindingInputs } from './finding-inputs.ts'
import { groupOutage } from './outage.ts'
import { storedErrorFindings } from './stored-errors.ts'

export const operationFindings = (inputs: FindingInputs): readonly Finding[] => [
  ...rejectedFindings(inputs),
  ...drainedFindings(inputs),
  ...relayedErrorFindings(inputs),
  ...storedErrorFindings(inputs),
  ...gatewayErrorFindings(inputs),
]

const rejectedFindings = ({ overrides, config, report }: FindingInputs): readonly Finding[] =>
  allOperations.flatMap(({ id }): readonly Finding[] => {
    const override = overrides.operations.get(id)
    if ((override?.state ?? config.operations[id].state) !== 'refuse') return []
    const rejected = report.recentErrors.causes.filter(
      (each) => each.kind === 'refused-by-operator' && each.operation === id,
    )
    const who =
      override === null
        ? 'the file refuses it (state: refuse)'
        : `${operatorPhrase(override.by)} refuses it until ${formatTime(override.until)}${orderReasonPhrase(override)}`
    const cause = `${who}${rejectedPhrase(tallyFailures(rejected))}`
    const severity = override === null ? 'notice' : 'warning'
    return [createFinding(severity, `operations.${id}`, cause, { command: explainCommandLine(id, config) })]
  })

/** Finds endpoints that an operator drains: a forgotten override ends by itself, but later. */
const drainedFindings = ({ overrides, report }: FindingInputs): readonly Finding[] =>
  groups.flatMap((group) => {
    const { endpoints, candidate } = report.upstreams[group]
    // One that an edit has taken out gets nothing anyway.
    const urls = new Set([...endpoints, ...(candidate?.endpoints ?? [])].map(({ url }) => url))
    return [...urls].flatMap((url): readonly Finding[] => {
      const override = overrides.endpoints.get(toEndpointKey(group, url))
      if (override?.state !== 'drain') return []
      const { by, until } = override
      const drain = `${operatorPhrase(by)} drains ${url} until ${formatTime(until)}${orderReasonPhrase(override)}`
      const cause = `${drain}: it gets no new requests`
      return [
        createFinding('notice', `upstreams.${group}`, cause, {
          command: `lender-gateway endpoint ready ${group} ${shellQuote(url)}`,
        }),
      ]
    })
  })

/** Names who has ordered something: by the name, and else by the address. */
const operatorPhrase = (by: string): string => (isIP(by) === 0 ? by : `an operator at ${by}`)

// As for failures at an endpoint: fewer in a minute may be a hiccup.
const minErrors = 3

// What is counted as of the last minute may be older by one sample.
const recentMs = 60_000 + stepSeconds * 1000

/** Finds operations that are answered, but with errors: the gateway relays what an upstream says of itself. */
const relayedErrorFindings = (inputs: FindingInputs): readonly Finding[] =>
  allOperations.flatMap(({ id, group }): readonly Finding[] => {
    const { recent, report } = inputs
    const { requests: all, passedOn: errors } = recent?.[id] ?? { requests: 0, passedOn: 0 }
    if (errors < minErrors) return []
    const isOut = groupOutage(group, inputs) !== null // which is a finding of its own
    const failing = [...(isOut ? [] : report.upstreams[group].endpoints), ...endpointsWithClients(group, inputs)]
      .flatMap(({ url, lastFailure }) => (lastFailure?.kind === null ? [{ url, lastFailure }] : []))
      .filter(({ lastFailure }) => inputs.at - lastFailure.at <= recentMs)
      .sort((a, b) => b.lastFailure.at - a.lastFailure.at)
    if (isOut && failing.length === 0) return []
    const [latest] = failing
    const last = latest === undefined ? '' : ` (${lastFailurePhrase(latest.lastFailure, latest.url)} last)`
    const hasEnded = latest !== undefined && isQuiet(latest.lastFailure.at, inputs.at)
    const quiet = hasEnded ? `, none since ${formatTimeOfDay(latest.lastFailure.at, inputs.at)}` : ''
    const answers = hasEnded ? 'answered' : 'answers'
    const cause = `its upstream ${answers} with 5xx of its own${last}: ${errors} of ${pluralize(all, 'request')} in the last minute${quiet}`
    const severity = areMostFailing(errors, all) && !hasEnded ? 'critical' : 'warning'
    return [createFinding(severity, `operations.${id}`, cause, { command: explainCommandLine(id, inputs.config) })]
  })

/** Lists the endpoints of the candidate of a group while clients are on it. */
const endpointsWithClients = (group: Group, { config, report, overrides }: FindingInputs): readonly EndpointReport[] =>
  findCandidateClients(config.upstreams[group].candidate, overrides.shifts.get(group)) === 'none'
    ? []
    : (report.upstreams[group].candidate?.endpoints ?? [])

const isGatewayError = ({ kind, endpoint }: ErrorCount): boolean =>
  kind === 'internal' ||
  kind === 'loop' ||
  kind === 'identity-unavailable' ||
  (kind === 'deadline-exceeded' && endpoint === null)

const gatewayErrorFindings = ({ report }: FindingInputs): readonly Finding[] =>
  groupByKey(
    report.recentErrors.causes.filter(isGatewayError),
    ({ kind, reason, operation }) => `${kind} ${reason} ${operation}`,
  ).map((same) => {
    const [{ kind, reason, operation }] = same
    const tally = tallyFailures(same)
    const severity = tally.lastMinute === 0 ? 'notice' : kind === 'internal' ? 'critical' : 'warning'
    const about = operation === null ? 'process' : `operations.${operation}`
    const cause = `${failureText(kind, reason)}: ${countPhrase(tally, 'failed')}`
    return createFinding(severity, about, cause, { since: tally.firstAt, command: tailCommand })
  })
