import { failures, type Kind } from '../../failures/kinds.ts'
import { failureText } from '../../failures/reasons.ts'
import type { CauseReport } from '../../observe/refusals/causes.ts'
import { formatDuration } from '../../units.ts'
import { counted, type Finding, finding, grouped, held, refusedOf, tallyOf, worstFirst } from './finding.ts'
import { limitFindings, processFindings } from './gateway.ts'
import { operationFindings } from './operations.ts'
import type { Reading } from './reading.ts'
import { trustFindings, upstreamCertificateFindings } from './trust.ts'
import { upstreamFindings } from './upstreams.ts'

// On one screen. Of more, the first tell what is wrong.
const most = 50

/** Says what is wrong, each with its cause in words, the worst first; none: nothing is. */
export const findings = (reading: Reading): readonly Finding[] =>
  worstFirst([
    ...processFindings(reading),
    ...auditFindings(reading),
    ...upstreamFindings(reading),
    ...operationFindings(reading),
    ...limitFindings(reading),
    ...trustFindings(reading),
    ...upstreamCertificateFindings(reading),
    ...configFindings(reading),
    ...spanFindings(reading),
    ...clientFindings(reading),
  ]).slice(0, most)

// A client that errs once has erred; what comes again and again is worth a line.
const often = { inAMinute: 3, inAQuarter: 10 } as const

/** Finds what clients do wrong again and again. */
const clientFindings = (reading: Reading): readonly Finding[] =>
  grouped(reading.report.refusals.causes.filter(isTheirs), ({ kind, reason }) => `${kind} ${reason}`).flatMap(
    (same): readonly Finding[] => {
      const tally = tallyOf(same)
      if (tally.lastMinute < often.inAMinute && tally.lastQuarter < often.inAQuarter) return []
      const { kind, reason } = same[0] as CauseReport
      const cause = `${failureText(kind, reason)}: ${counted(tally, 'refused')} with ${failures[kind].status}${whose(kind, reason, reading)}`
      return [finding('notice', aboutOf(same), cause, { since: tally.firstAt, command })]
    },
  )

const isTheirs = ({ kind }: CauseReport): boolean => failures[kind].fault === 'client'

/** Names the operation, where it is always the same. */
const aboutOf = (same: readonly CauseReport[]): string => {
  const [operation, ...others] = new Set(same.map((cause) => cause.operation))
  return others.length > 0 || operation == null ? 'clients' : `operations.${operation}`
}

/** Says who it was, as far as the last of them tell: the client where it has proved who it is, else the address. */
const whose = (kind: Kind, reason: CauseReport['reason'], { report }: Reading): string => {
  const last = report.refusals.last.filter((each) => each.kind === kind && each.reason === reason)
  const who = new Set(last.map(({ client, clientId }) => clientId ?? client))
  const [one] = who
  if (one === undefined) return ''
  return who.size === 1 ? `, of ${one}` : `, of ${who.size} clients, the last one ${one}`
}

const command = 'lender-gateway tail --refused --since 15m'

/** Finds why there is no record. */
const auditFindings = ({ audit, config, report }: Reading): readonly Finding[] => {
  const refused = refusedOf(report, 'audit-unavailable')
  if (audit !== null && audit.reason !== null) {
    const then =
      config.audit?.onFailure === 'refuse'
        ? 'so requests are refused (audit.onFailure: refuse), and /ready says no'
        : 'and requests go on without a record (audit.onFailure: continue)'
    const cause = `the audit log cannot be written to ${audit.file}: ${audit.reason}, ${then}${held(refused)}${lostOf(audit.lost)}`
    return [finding('critical', 'audit', cause, { since: audit.since })]
  }
  const found: Finding[] = []
  if (refused.lastQuarter > 0) {
    const cause = `the audit log could not be written for a while${held(refused)}`
    found.push(finding(refused.lastMinute > 0 ? 'warning' : 'notice', 'audit', cause, { since: refused.firstAt }))
  }
  if (audit !== null && audit.lost > 0)
    found.push(
      finding('notice', 'audit', `the audit log lacks ${audit.lost} lines, and says so where they would stand`),
    )
  return found
}

const lostOf = (lines: number): string => (lines === 0 ? '' : `; ${lines} lines are lost`)

/** Finds why the file does not say what runs. */
const configFindings = ({ at, file }: Reading): readonly Finding[] => {
  const { name, differs, rolledBack, refusal, nextTryAt } = file
  const command = `lender-gateway check ${name}`
  if (refusal !== null) {
    const [first, ...others] = refusal.problems
    const what = nextTryAt === null ? `an edit of ${name} was refused` : `an edit of ${name} is held back`
    const why =
      first === undefined ? '' : `: ${first.file}:${first.line}:${first.column} ${first.path}: ${first.message}`
    const more = others.length === 0 ? '' : `, and ${others.length} more`
    const next = nextTryAt === null ? '' : `; next try in ${formatDuration(Math.max(0, nextTryAt - at))}`
    const cause = `${what}, and what ran before runs on${why}${more}${next}`
    return [
      finding('warning', 'config', cause, {
        since: refusal.at,
        command: nextTryAt === null ? command : `lender-gateway check --online ${name}`,
      }),
    ]
  }
  if (!differs) return []
  const cause = rolledBack
    ? `${name} differs from what runs: it was rolled back, and reload takes it again`
    : `${name} differs from what runs: it was not read yet, and reload reads it`
  return [finding('notice', 'config', cause, { command: `lender-gateway diff ${name}` })]
}

/** Finds why traces have gaps. */
const spanFindings = ({ config: { tracing }, report: { meter } }: Reading): readonly Finding[] => {
  const trouble = meter?.spans.trouble ?? null
  if (typeof tracing?.otlp !== 'string' || trouble === null) return []
  const cause = `spans are lost: ${new URL(tracing.otlp).origin} does not take them (${trouble.reason}); requests are served all the same`
  return [finding('notice', 'tracing', cause, { since: trouble.since })]
}
