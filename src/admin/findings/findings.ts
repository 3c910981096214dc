import { failures, type Kind } from '../../failures/kinds.ts'
import { failureText } from '../../failures/reasons.ts'
import type { CauseReport } from '../../observe/refusals/causes.ts'
import { auditFindings } from './audit.ts'
import { configFindings } from './config.ts'
import { counted, grouped, tallyOf } from './counted.ts'
import { type Finding, finding, worstFirst } from './finding.ts'
import { limitFindings } from './limits.ts'
import { operationFindings } from './operations.ts'
import { processFindings } from './process.ts'
import type { Reading } from './reading.ts'
import { spanFindings } from './spans.ts'
import { trustFindings } from './trust.ts'
import { upstreamCertificateFindings } from './upstream-certificates.ts'
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
