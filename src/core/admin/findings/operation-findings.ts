import { allOperations, groups } from '../../../operations.ts'
import { failureText } from '../../exchange/failures/errors.ts'
import { failureTable } from '../../exchange/failures/failure-table.ts'
import { reportedSides } from '../../exchange/sides.ts'
import { isIP } from '../../lib/net/addresses.ts'
import { commandLine } from '../../lib/program.ts'
import { formatTime } from '../../lib/text/format-time.ts'
import type { ErrorCount } from '../../log/recent-errors.ts'
import { groupByKey } from '../../log/sum-reports.ts'
import { toEndpointKey } from '../../runtime/overrides.ts'
import type { SideReport } from '../../runtime/status/side.ts'
import { overrideReasonPhrase } from '../commands/apply-override.ts'
import { countPhrase, isContractFailure, maxBodyPhrase, rejectedPhrase, tallyFailures } from './failure-phrases.ts'
import { explainCommandLine, finding, tailCommand } from './finding.ts'
import type { FindingInputs, FindingSource } from './finding-inputs.ts'

export const rejectedFindings: FindingSource = ({ overrides, config, report }) =>
  allOperations.flatMap(({ id }) => {
    const override = overrides.operations.get(id)
    if ((override?.state ?? config.operations[id].state) !== 'reject') return []
    const rejected = tallyFailures(
      report.recentErrors.causes.filter((each) => each.kind === 'rejected-by-operator' && each.operation === id),
    )
    const severity = override === null ? 'notice' : 'warning'
    const facts = { override, rejected, command: explainCommandLine(id, config) }
    return finding('operation-rejected', severity, `operations.${id}`, facts, ({ override, rejected }) => {
      const who =
        override === null
          ? 'the file rejects every request (state: reject)'
          : `${operatorPhrase(override.by)} rejects every request until ${formatTime(override.until)}${overrideReasonPhrase(override)}`
      return [`${who}${rejectedPhrase(rejected)}`]
    })
  })

export const drainedFindings: FindingSource = ({ overrides, report }) =>
  groups.flatMap((group) => {
    // An endpoint that an edit removed gets no requests.
    const endpoints = reportedSides<SideReport>(report.upstreams[group]).flatMap((side) => side.report.endpoints)
    const urls = new Set(endpoints.map(({ url }) => url))
    return [...urls].flatMap((url) => {
      const override = overrides.endpoints.get(toEndpointKey(group, url))
      if (override?.state !== 'drain') return []
      const facts = { url, override, endpoints: [url], command: commandLine('endpoint', 'ready', group, url) }
      return finding('endpoint-drained', 'notice', `upstreams.${group}`, facts, ({ url, override }) => [
        `${operatorPhrase(override.by)} drains ${url} until ${formatTime(override.until)}${overrideReasonPhrase(override)}: it gets no new requests`,
      ])
    })
  })

const operatorPhrase = (by: string): string => (isIP(by) === 0 ? by : `an operator at ${by}`)

const isGatewayError = ({ kind, endpoint }: ErrorCount): boolean =>
  kind === 'internal' ||
  kind === 'loop' ||
  kind === 'identity-unavailable' ||
  (kind === 'deadline-exceeded' && endpoint === null)

export const gatewayErrorFindings: FindingSource = ({ report }) =>
  groupByKey(
    report.recentErrors.causes.filter(isGatewayError),
    ({ kind, reason, operation }) => `${kind} ${reason} ${operation}`,
  ).map((same) => {
    const [{ kind, reason, operation }] = same
    const tally = tallyFailures(same)
    const severity = tally.lastMinute === 0 ? 'notice' : kind === 'internal' ? 'critical' : 'warning'
    const about = operation === null ? 'process' : `operations.${operation}`
    const facts = { kind, reason, tally, since: tally.firstAt, command: tailCommand }
    return finding('gateway-errors', severity, about, facts, ({ kind, reason, tally }) => [
      `${failureText(kind, reason)}: ${countPhrase(tally, 'failed')}`,
    ])
  })

// A single error of a client is not worth a line.
const often = { inAMinute: 3, in15Minutes: 10 } as const

export const clientFindings: FindingSource = (inputs) =>
  groupByKey(
    inputs.report.recentErrors.causes.filter(isClientFault),
    ({ kind, reason }) => `${kind} ${reason}`,
  ).flatMap((same) => {
    const tally = tallyFailures(same)
    if (tally.lastMinute < often.inAMinute && tally.last15Min < often.in15Minutes) return []
    const [{ kind, reason }] = same
    const { senders = null, note = '' } = describeClientErrors(reason, inputs) ?? {}
    const severity = senders !== null && tally.lastMinute > 0 ? 'warning' : 'notice'
    const about = senders ?? subjectOf(same)
    const last = inputs.report.recentErrors.last.filter((each) => each.kind === kind && each.reason === reason)
    const clients = [...new Set(last.map(({ client, clientId }) => clientId ?? client))]
    const facts = { kind, reason, tally, senders, note, clients, since: tally.firstAt, command: tailCommand }
    return finding('client-errors', severity, about, facts, ({ kind, reason, tally, note, ...facts }) => {
      const count = countPhrase(
        tally,
        facts.senders === null ? `rejected with ${failureTable[kind].status}` : 'rejected',
      )
      const [one, ...others] = facts.clients
      const who = others.length === 0 ? one : `${facts.clients.length} clients, the last one ${one}`
      const from = one === undefined ? '' : `, from ${who}`
      return [`${failureText(kind, reason)}${maxBodyPhrase(same, inputs.config)}${note}: ${count}${from}`]
    })
  })

const describeClientErrors = (reason: ErrorCount['reason'], { findingParts, config }: FindingInputs) =>
  findingParts.flatMap((part) => part.describeClientErrors?.(reason, config) ?? [])[0]

const isClientFault = (each: ErrorCount): boolean =>
  failureTable[each.kind].fault === 'client' && !isContractFailure(each)

const subjectOf = (same: readonly ErrorCount[]): string => {
  const [operation, ...others] = new Set(same.map(({ operation }) => operation))
  return others.length > 0 || operation == null ? 'clients' : `operations.${operation}`
}
