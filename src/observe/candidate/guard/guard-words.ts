import { allOperations } from '../../../operations.ts'
import { formatDuration, formatShare } from '../../../units.ts'
import type { GuardFault, GuardVerdict } from './guard-judge.ts'

const faultWords: Readonly<Record<GuardFault, string>> = {
  failed: 'failed',
  refused: 'were refused with a 4xx',
  slow: 'waited too long for the head',
}

/** Describes why a candidate is taken back: `44 % of 480 requests failed within 1m, and 0.1 % at the primary`. */
export const describeVerdict = (verdict: GuardVerdict, windowMs: number): string => {
  const { fault, reference, operations, requests, bad, otherRequests, otherBad, boundMs } = verdict
  const [operation, ...others] = operations.map((index) => allOperations[index]?.id)
  const where = others.length === 0 && operation !== undefined ? ` to ${operation}` : ''
  const bound = boundMs === null ? '' : `, longer than ${formatRounded(boundMs)}`
  const own = `${formatShare(bad, requests)} of ${requests} requests${where} ${faultWords[fault]}${bound}`
  const other = `${formatShare(otherBad, otherRequests)} of ${otherRequests} at the primary`
  switch (reference) {
    case 'meanwhile':
      return `${own} within ${formatDuration(windowMs)}, and ${other}`
    case 'before':
      return `${own} within ${formatDuration(windowMs)}, and ${other}, which has too few now and is compared as it was before`
    case 'none':
      return `${own} within ${formatDuration(windowMs)}, and the primary has too few to be compared with`
  }
}

const formatRounded = (ms: number): string => formatDuration(ms < 10_000 ? Math.round(ms) : Math.round(ms / 100) * 100)
