import { allOperations } from '../../../operations.ts'
import { pluralize } from '../commands/phrases.ts'
import { formatTimeOfDay } from '../format-time.ts'
import { areMostFailing, isQuiet } from './failure-tally.ts'
import { createFinding, type Finding } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

/** Finds operations whose clients get an error that the cache has stored: its upstream may be well by now. */
export const storedErrorFindings = ({ at, config, recent, report }: FindingInputs): readonly Finding[] =>
  allOperations.flatMap(({ id }): readonly Finding[] => {
    const { requests, storedErrors } = recent?.[id] ?? { requests: 0, storedErrors: 0 }
    const last = report.cache?.operations.find(({ operation }) => operation === id)?.lastError ?? null
    if (storedErrors === 0 || last === null) return []
    const { status, sentAt, freshUntil, servedAt } = last
    const hasEnded = isQuiet(servedAt, at)
    const time = (ms: number): string => formatTimeOfDay(ms, at)
    // One that says no-cache is never fresh: the upstream has said by 304 that it still holds.
    const fresh = freshUntil > servedAt ? `which is fresh until ${time(freshUntil)}` : 'which it has confirmed by 304'
    const cause =
      `the cache ${hasEnded ? 'answered' : 'answers'} with a stored ${status}, ` +
      `which the upstream sent at ${time(sentAt)} and ${fresh}: ` +
      `${storedErrors} of ${pluralize(requests, 'request')} in the last minute` +
      `${hasEnded ? `, none since ${time(servedAt)}` : ''}`
    const severity = hasEnded ? 'notice' : areMostFailing(storedErrors, requests) ? 'critical' : 'warning'
    return [
      createFinding(severity, `operations.${id}`, cause, {
        since: sentAt,
        command: `lender-gateway cache clear ${id}`,
        details: config.cache.redis === null ? [] : ['each gateway has a memory of its own: run it on each of them'],
      }),
    ]
  })
