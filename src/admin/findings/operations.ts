import { catalog } from '../../catalog.ts'
import { failureText } from '../../failures/reasons.ts'
import type { CauseReport } from '../../observe/refusals/causes.ts'
import { endpointOf } from '../../snapshot/overrides.ts'
import { time } from '../time.ts'
import { counted, explainCommand, type Finding, finding, grouped, lastOf, requests, tallyOf } from './finding.ts'
import { groupOutage } from './outage.ts'
import type { Reading } from './reading.ts'

/** Finds operations that an operator has taken out, errors of an upstream's own, and failures that are the gateway's or nobody's. */
export const operationFindings = (reading: Reading): readonly Finding[] => [
  ...refused(reading),
  ...drained(reading),
  ...passedOn(reading),
  ...own(reading),
]

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

/** Finds endpoints that an operator keeps from new work: an order that was forgotten ends by itself, but later. */
const drained = ({ said }: Reading): readonly Finding[] =>
  said.endpoints.all.flatMap(([key, { state, until }]): readonly Finding[] => {
    if (state !== 'drain') return []
    const { group, endpoint: url } = endpointOf(key)
    const cause = `an operator drains ${url} until ${time(until)}: it gets no new requests`
    return [
      finding('notice', `upstreams.${group}`, cause, { command: `lender-gateway endpoint ready ${group} ${url}` }),
    ]
  })

// As for what fails at an endpoint: fewer in a minute may be a hiccup.
const many = 3

/** Finds operations that are answered, but with errors: the gateway passes on what an upstream says of itself. */
const passedOn = (reading: Reading): readonly Finding[] =>
  catalog.flatMap(({ id, group }): readonly Finding[] => {
    const { recent, report } = reading
    if (groupOutage(group, reading) !== null) return [] // which says so itself
    const { requests: all, passedOn: errors } = recent?.[id] ?? { requests: 0, passedOn: 0 }
    if (errors < many) return []
    const said = report.upstreams[group].endpoints
      .flatMap(({ url, lastFailure }) => (lastFailure?.kind === null ? [{ url, lastFailure }] : []))
      .sort((a, b) => b.lastFailure.at - a.lastFailure.at)
    const last = said[0] === undefined ? '' : ` (${lastOf(said[0].lastFailure, said[0].url)} last)`
    const cause = `its upstream answers with 5xx of its own${last}: ${errors} of ${requests(all)} in the last minute`
    const severity = errors * 2 >= all ? 'critical' : 'warning'
    return [finding(severity, `operations.${id}`, cause, { command: explainCommand(id) })]
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
      const cause = `${failureText(kind, reason)}: ${counted(tally, 'failed')}`
      return finding(severity, about, cause, {
        since: tally.firstAt,
        command: 'lender-gateway tail --refused --since 15m',
      })
    },
  )
