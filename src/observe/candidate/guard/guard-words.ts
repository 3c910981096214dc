import { allOperations } from '../../../operations.ts'
import { formatDuration, formatShare } from '../../../units.ts'
import type { GuardFault } from './guard-comparison.ts'
import type { GuardVerdict } from './guard-judge.ts'

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
  const did = boundMs === null ? faultWords[fault] : `waited longer than ${formatRounded(boundMs)} for the head`
  const own = `${formatShare(bad, requests)} of ${requests} requests${where} ${did} within ${formatDuration(windowMs)}`
  const other = `${formatShare(otherBad, otherRequests)} of ${otherRequests} at the primary`
  switch (reference) {
    case 'meanwhile':
      return `${own}, and ${other}`
    case 'before':
      return `${own}, and ${other} before, which has too few now`
    case 'none':
      return `${own}, and the primary had too few to compare them with`
  }
}

const formatRounded = (ms: number): string => formatDuration(ms < 10_000 ? Math.round(ms) : Math.round(ms / 100) * 100)
