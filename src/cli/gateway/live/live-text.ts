import type { Operation } from '../../../catalog.ts'
import { findingsText } from '../findings-text.ts'
import { limitRows } from '../limits-text.ts'
import { operationRows } from '../operations-text.ts'
import { ago } from '../span.ts'
import { type Row, table } from '../table.ts'
import { upstreamRows } from '../upstreams-text.ts'
import type { Live } from './live.ts'

/** Writes what is so just now, below what the file says; `fileHash` is of the latter. */
export const liveText = (live: Live, { id, group }: Operation, fileHash: string): string => {
  const { url, at, hash, operation, upstream, limits, findings, failures } = live
  const differs = hash === fileHash ? '' : ', which is NOT WHAT THE FILE SAYS: diff shows it'
  const bounds = limits === null ? [] : limitRows(limits, at)
  const sections = [
    `just now, by ${url}: it runs ${hash}${differs}`,
    ...(findings.length > 0 ? [findingsText(findings, at)] : []),
    ...(operation === null ? [] : [table(operationRows({ [id]: operation }, at))]),
    ...(upstream === null ? [] : [table(upstreamRows({ [group]: upstream }, at))]),
    ...(bounds.length > 1 ? [table(bounds)] : []),
    failures.length === 0 ? 'no failure of it in the last 15 minutes' : table(failureRows(live)),
  ]
  return `\n${sections.join('\n\n')}\n`
}

const failureRows = ({ failures, at }: Live): readonly Row[] => [
  ['failures', 'last', 'what'],
  ...failures.map(({ count, last, status, kind, reason, endpoint }): Row => {
    const where = endpoint === null ? '' : `, at ${endpoint}`
    return [`${count}`, ago(last, at), `${status} ${kind}: ${reason}${where}`]
  }),
]
