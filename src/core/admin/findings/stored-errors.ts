import { allOperations } from '../../../operations.ts'
import { commandLine } from '../../lib/program.ts'
import { formatTimeOfDay } from '../../lib/text/format-time.ts'
import { pluralize } from '../commands/phrases.ts'
import { areMostFailing, isQuiet } from './failure-phrases.ts'
import { type FindingSource, finding } from './finding.ts'

/** Finds operations whose clients get an error that the cache has stored: its upstream may be well by now. */
export const storedErrorFindings: FindingSource = ({ at, config, recent, report }) =>
  allOperations.flatMap(({ id }) => {
    const { requests, storedErrors } = recent?.[id] ?? { requests: 0, storedErrors: 0 }
    const last = report.cache?.operations.find(({ operation }) => operation === id)?.lastError ?? null
    if (storedErrors === 0 || last === null) return []
    const hasEnded = isQuiet(last.servedAt, at)
    const severity = hasEnded ? 'notice' : areMostFailing(storedErrors, requests) ? 'critical' : 'warning'
    const command = commandLine('cache', 'clear', id)
    const facts = { requests, storedErrors, ...last, hasEnded, isShared: config.cache.redis !== null }
    const found = { ...facts, since: last.sentAt, command }
    return finding('error-stored', severity, `operations.${id}`, found, (facts, at) => {
      const { status, sentAt, freshUntil, servedAt, hasEnded } = facts
      const time = (ms: number): string => formatTimeOfDay(ms, at)
      // One that says no-cache is never fresh: the upstream has said by 304 that it still holds.
      const fresh = freshUntil > servedAt ? `which is fresh until ${time(freshUntil)}` : 'which it has confirmed by 304'
      return [
        `the cache ${hasEnded ? 'answered' : 'answers'} with a stored ${status}, ` +
          `which the upstream sent at ${time(sentAt)} and ${fresh}: ` +
          `${facts.storedErrors} of ${pluralize(facts.requests, 'request')} in the last minute` +
          `${hasEnded ? `, none since ${time(servedAt)}` : ''}`,
        ...(facts.isShared ? ['each gateway has a memory of its own: run it on each of them'] : []),
      ]
    })
  })
