import { catalog } from '../../catalog.ts'
import type { CauseReport } from '../../observe/refusals/causes.ts'
import { reasonText } from '../../reasons.ts'
import { kindWords } from '../kind-words.ts'
import { time } from '../time.ts'
import { counted, grouped, tallyOf } from './counted.ts'
import { type Finding, finding } from './finding.ts'
import type { Reading } from './reading.ts'
import { explainCommand } from './words.ts'

/** Finds operations that an operator has taken out, and failures that are the gateway's own or nobody's. */
export const operationFindings = (reading: Reading): readonly Finding[] => [...refused(reading), ...own(reading)]

const refused = ({ said, config, report }: Reading): readonly Finding[] =>
  catalog.flatMap(({ id }): readonly Finding[] => {
    const order = said.operations.of(id)
    if ((order?.state ?? config.operations[id].state) !== 'refuse') return []
    const causes = report.refusals.causes.filter((each) => each.kind === 'refused-by-operator' && each.operation === id)
    const held = causes.length === 0 ? '' : `: ${counted(tallyOf(causes), 'refused')}`
    const who =
      order === null ? 'the file refuses it (state: refuse)' : `an operator refuses it until ${time(order.until)}`
    const command = explainCommand(id)
    return [finding(order === null ? 'notice' : 'warning', `operations.${id}`, `${who}${held}`, { command })]
  })

const isOwn = ({ kind, endpoint }: CauseReport): boolean =>
  kind === 'internal' ||
  kind === 'loop' ||
  kind === 'identity-unavailable' ||
  (kind === 'deadline-exceeded' && endpoint === null)

const own = ({ report }: Reading): readonly Finding[] =>
  grouped(report.refusals.causes.filter(isOwn), ({ kind, reason, operation }) => `${kind} ${reason} ${operation}`).map(
    (same) => {
      const { kind, reason, operation } = same[0] as CauseReport
      const tally = tallyOf(same)
      const severity = tally.lastMinute === 0 ? 'notice' : kind === 'internal' ? 'critical' : 'warning'
      const about = operation === null ? 'process' : `operations.${operation}`
      const cause = `${reason === null ? kindWords[kind] : reasonText(reason)}: ${counted(tally, 'failed')}`
      return finding(severity, about, cause, { since: tally.firstAt, command: 'lender-gateway tail --refused' })
    },
  )
