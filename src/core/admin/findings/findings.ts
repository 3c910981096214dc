import { dirname, isAbsolute } from 'node:path'
import { candidateFindings, comparisonFindings } from '../../../features/candidate/findings.ts'
import { formatAge } from '../../../features/console/page/format.ts'
import { contractFindings, isContractFailure } from '../../../features/contract/findings.ts'
import { idempotencyFindings } from '../../../features/idempotency/findings.ts'
import { limitFindings } from '../../../features/limits/findings.ts'
import { formatPlace } from '../../config/problem.ts'
import { type FailureKind, failureTable } from '../../exchange/failures/kinds.ts'
import { failureText } from '../../exchange/failures/reasons.ts'
import { shellQuote } from '../../lib/program-command.ts'
import { formatRoundedSize } from '../../lib/text/units.ts'
import type { ErrorCount } from '../../log/recent-errors/error-counts.ts'
import { groupByKey } from '../../log/row-counts.ts'
import { applyFailedMessage } from '../../runtime/reload/reload-problems.ts'
import { heldBackHint } from '../../runtime/workers-not-answering-error.ts'
import { pluralize } from '../commands/phrases.ts'
import { credentialFindings, upstreamCertificateFindings } from './credentials.ts'
import { countPhrase, rejectedPhrase, tallyFailures, tallyRejected } from './failure-tally.ts'
import { createFinding, type Finding, joinWithAnd, maxBodyPhrase, worstFirst } from './finding.ts'
import { tailCommand } from './finding-commands.ts'
import type { FindingInputs } from './finding-inputs.ts'
import { operationFindings } from './operations.ts'
import { processFindings } from './process-findings.ts'
import { upstreamFindings } from './upstreams.ts'

// What fits on one screen. The first ones say what is wrong.
const maxFindings = 50

/** Collects what is wrong, each with its cause in words, the worst first; none: nothing is. */
export const collectFindings = (inputs: FindingInputs): readonly Finding[] =>
  worstFirst([
    ...processFindings(inputs),
    ...auditFindings(inputs),
    ...upstreamFindings(inputs),
    ...candidateFindings(inputs),
    ...comparisonFindings(inputs),
    ...operationFindings(inputs),
    ...contractFindings(inputs),
    ...limitFindings(inputs),
    ...idempotencyFindings(inputs),
    ...credentialFindings(inputs),
    ...upstreamCertificateFindings(inputs),
    ...configFindings(inputs),
    ...spanFindings(inputs),
    ...clientFindings(inputs),
  ]).slice(0, maxFindings)

// A client may err once; an error that comes again and again is worth a line.
const often = { inAMinute: 3, in15Minutes: 10 } as const

const clientFindings = (inputs: FindingInputs): readonly Finding[] =>
  groupByKey(
    inputs.report.recentErrors.causes.filter(isClientFault),
    ({ kind, reason }) => `${kind} ${reason}`,
  ).flatMap((same): readonly Finding[] => {
    const tally = tallyFailures(same)
    if (tally.lastMinute < often.inAMinute && tally.last15Min < often.in15Minutes) return []
    const [{ kind, reason }] = same
    const isUnanswered = loadBalancerReasons.has(reason)
    const count = countPhrase(tally, isUnanswered ? 'refused' : `refused with ${failureTable[kind].status}`)
    const off = reason === 'proxy-header' && inputs.config.listen.proxyProtocol === null ? ', which is off' : ''
    const cause = `${failureText(kind, reason)}${maxBodyPhrase(same, inputs.config)}${off}: ${count}${clientPhrase(kind, reason, inputs)}`
    const severity = isUnanswered && tally.lastMinute > 0 ? 'warning' : 'notice'
    const about = isUnanswered ? 'listen.proxyProtocol' : subjectOf(same)
    return [createFinding(severity, about, cause, { since: tally.firstAt, command: tailCommand })]
  })

// What load balancers cause, and not clients: only from their addresses is a header waited for.
const loadBalancerReasons: ReadonlySet<ErrorCount['reason']> = new Set([
  'no-proxy-header',
  'bad-proxy-header',
  'proxy-header-too-slow',
])

const isClientFault = (each: ErrorCount): boolean =>
  failureTable[each.kind].fault === 'client' && !isContractFailure(each)

/** Names the operation, where it is always the same. */
const subjectOf = (same: readonly ErrorCount[]): string => {
  const [operation, ...others] = new Set(same.map(({ operation }) => operation))
  return others.length > 0 || operation == null ? 'clients' : `operations.${operation}`
}

/** Names the client, as far as the last errors tell: its id where it was authenticated, else its address. */
const clientPhrase = (kind: FailureKind, reason: ErrorCount['reason'], { report }: FindingInputs): string => {
  const last = report.recentErrors.last.filter((each) => each.kind === kind && each.reason === reason)
  const who = new Set(last.map(({ client, clientId }) => clientId ?? client))
  const [one] = who
  if (one === undefined) return ''
  return who.size === 1 ? `, from ${one}` : `, from ${who.size} clients, the last one ${one}`
}

const auditFindings = ({ audit, config, report }: FindingInputs): readonly Finding[] => {
  const refused = tallyRejected(report, 'audit-unavailable')
  if (audit !== null && audit.reason !== null) {
    // An edit to `continue` ends an outage: what was refused before it is over, and its lines are not lost either.
    const then =
      config.audit?.onFailure === 'refuse'
        ? `so requests are refused (audit.onFailure: refuse), and /ready says no${rejectedPhrase(refused)}`
        : 'and requests are served (audit.onFailure: continue): their lines wait in memory while there is room'
    const cause = `the audit log cannot be written to ${audit.file}: ${audit.reason}, ${then}${lostPhrase(audit.lost)}`
    return [
      createFinding('critical', 'audit', cause, { since: audit.since, command: diskCommand(audit.file, audit.reason) }),
    ]
  }
  const found: Finding[] = [...diskFindings(audit, config.audit?.onFailure)]
  if (refused.last15Min > 0) {
    const cause = `the audit log could not be written for a while${rejectedPhrase(refused)}`
    found.push(createFinding(refused.lastMinute > 0 ? 'warning' : 'notice', 'audit', cause, { since: refused.firstAt }))
  }
  if (audit !== null && audit.lost > 0)
    found.push(createFinding('notice', 'audit', `the audit log lacks ${pluralize(audit.lost, 'line')}, and says where`))
  return found
}

const diskFindings = (
  audit: FindingInputs['audit'],
  onFailure: NonNullable<FindingInputs['config']['audit']>['onFailure'] | undefined,
): readonly Finding[] => {
  if (audit?.disk?.low !== true) return []
  const { file, disk } = audit
  const { freeBytes, sizeBytes, fullInSeconds } = disk
  const pace =
    fullInSeconds === null ? '' : `, and at the pace of the last hour it is full in ${formatAge(fullInSeconds * 1000)}`
  const then =
    onFailure === 'refuse'
      ? 'requests are refused when it is full (audit.onFailure: refuse)'
      : 'lines wait in memory when it is full, up to 16 MiB, and are then lost (audit.onFailure: continue)'
  const cause = `the disk of the audit log ${file} has ${formatRoundedSize(freeBytes)} free of ${formatRoundedSize(sizeBytes)}${pace}: ${then}`
  return [createFinding('warning', 'audit', cause, { command: `df -h ${shellQuote(dirname(file))}` })]
}

/** Formats the command that shows why a file cannot be written: no bytes or inodes are left, or who may write there. */
const diskCommand = (file: string, reason: string): string | null => {
  if (!isAbsolute(file)) return null
  const folder = shellQuote(dirname(file))
  return reason.startsWith('ENOSPC') ? `df -h ${folder}; df -i ${folder}` : `ls -ld ${folder}`
}

const lostPhrase = (lines: number): string => (lines === 0 ? '' : `; ${pluralize(lines, 'line')} lost`)

const configFindings = ({ file, loadedAt }: FindingInputs): readonly Finding[] => {
  const { name, differing, rolledBack, refusal, nextTryAt } = file
  const edit = `an edit of ${differing.length === 0 ? name : joinWithAnd(differing)}`
  if (refusal !== null) {
    const [first, ...others] = refusal.problems
    const reason = first?.message === applyFailedMessage ? `: ${first.found}` : ''
    const why = first === undefined ? '' : `: ${formatPlace(first)}: ${first.message}${reason}`
    const more = others.length === 0 ? '' : `, and ${others.length} more`
    const cause = `${refusalPhrase(edit, file, loadedAt)}${why}${more}`
    // A sound file that needs a restart, whose audit file cannot be opened, or that a worker did not respond to:
    // `check` would find it good.
    const again = `lender-gateway ${refusal.trigger === 'rollback' ? 'rollback' : 'reload'}`
    const command = refusal.isFileSound || refusal.trigger === 'rollback' ? again : `lender-gateway check ${name}`
    const isUnreached = nextTryAt !== null && !refusal.problems.some(({ hint }) => hint === heldBackHint)
    return [
      createFinding('warning', 'config', cause, {
        since: refusal.since,
        command: isUnreached ? `lender-gateway check --online ${name}` : command,
        details: refusal.isFileSound ? [] : ['until the file is corrected, a restart fails'],
      }),
    ]
  }
  if (differing.length === 0) return []
  const cause = `${edit} ${rolledBack ? 'was rolled back, and reload takes it again' : 'was not read yet, and reload reads it'}`
  return [createFinding('notice', 'config', cause, { command: `lender-gateway diff ${name}` })]
}

const refusalPhrase = (
  edit: string,
  { refusal, rolledBack, nextTryAt }: FindingInputs['file'],
  loadedAt: number,
): string => {
  if (refusal?.trigger === 'rollback') return 'a rollback was refused, and what ran before runs on'
  if (nextTryAt !== null) return `${edit} is held back, and what ran before runs on`
  const isOlderThanRollback = rolledBack && refusal !== null && refusal.at < loadedAt
  return `${edit} was refused, and ${isOlderThanRollback ? 'never ran' : 'what ran before runs on'}`
}

const spanFindings = ({ config: { tracing }, report: { requestMetrics } }: FindingInputs): readonly Finding[] => {
  const exportFailure = requestMetrics?.spans.exportFailure ?? null
  if (typeof tracing?.otlp !== 'string' || exportFailure === null) return []
  const cause = `spans are lost: ${new URL(tracing.otlp).origin} does not take them (${exportFailure.reason}); requests are served all the same`
  return [createFinding('notice', 'tracing', cause, { since: exportFailure.since })]
}
