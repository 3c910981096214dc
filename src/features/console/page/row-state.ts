import { type FindingSubject, type Severity, severities } from '../../../core/admin/findings/finding.ts'
import type { Html } from '../../../core/admin/html.ts'
import { type BadgeTone, badge } from '../../../core/admin/page-components.ts'

export const severityTones: Readonly<Record<Severity, BadgeTone>> = {
  critical: 'bad',
  warning: 'warning',
  notice: 'notice',
}

export interface RowFacts {
  readonly well: string
  /** Default: `idle`. */
  readonly untried?: string
  /** Taken out on purpose: `rejected`, `draining`. */
  readonly takenOut?: string | null
  /** Cannot serve: `down`, `fails`. */
  readonly dead?: string | null
  /** Out for a while, or serves in part: `ejected`, `1 of 2 up`. */
  readonly partly?: string | null
  /** A count, or per second; null: not counted. */
  readonly requests?: RecentRequests | null
  /** A finding about a wider part that may keep requests away. Replaces `untried`. */
  readonly doubt?: Severity | null
  /** Default: there were recent requests. */
  readonly isProven?: boolean
  readonly finding?: Severity | null
}

interface RecentRequests {
  readonly all: number
  readonly failed: number
  /** By the client's fault, or left by the client. */
  readonly rejected: number
}

export interface RowState {
  readonly tone: BadgeTone
  readonly words: string
}

export const stateBadge = ({ tone, words }: RowState): Html => badge(tone, words)

// Absorbs the rounding of rates.
const epsilon = 1e-6

/** A row is good only if requests or probes show that it works. Switches do not count. */
export const toRowState = (facts: RowFacts): RowState => {
  const { well, untried = 'idle', doubt, takenOut, dead, partly, requests, finding } = facts
  const { isProven = (requests?.all ?? 0) > 0 } = facts
  if (takenOut != null) return { tone: 'off', words: takenOut }
  if (dead != null) return { tone: 'bad', words: dead }
  const failures = requests == null ? null : failureState(requests)
  if (failures?.tone === 'bad') return failures
  if (finding === 'critical') return { tone: 'bad', words: 'critical' }
  if (partly != null) return { tone: 'warning', words: partly }
  if (failures !== null) return failures
  if (finding === 'warning') return { tone: 'warning', words: 'warning' }
  if (isProven) return { tone: 'good', words: well }
  return doubt == null ? { tone: 'off', words: untried } : { tone: severityTones[doubt], words: 'see above' }
}

export const isProblem = ({ tone }: RowState): boolean => tone === 'bad' || tone === 'warning'

const failureState = ({ all, failed, rejected }: RecentRequests): RowState | null => {
  if (all <= 0) return null
  const letIn = all - rejected
  if (failed > 0 && failed > letIn - epsilon) return { tone: 'bad', words: 'fails' }
  if (failed > 0) {
    const share = failed / letIn
    return { tone: share >= 0.5 ? 'bad' : 'warning', words: `${formatPercentage(share)} fail` }
  }
  return letIn <= epsilon ? { tone: 'warning', words: 'serves none' } : null
}

const formatPercentage = (share: number): string => (share < 0.01 ? 'under 1 %' : `${Math.round(share * 100)} %`)

/**
 * The worst finding of a key and of keys below it, limited to `endpoint` where given. A group's candidate counts
 * separately.
 */
export const worstFinding = (
  findings: readonly FindingSubject[],
  about: string,
  endpoint: string | null = null,
): Severity | null =>
  findings
    .filter((each) => [each.about, ...each.alsoAbout].some((key) => isWithin(key, about)))
    .filter(({ endpoints }) => endpoint === null || endpoints.includes(endpoint))
    .reduce<Severity | null>((worst, { severity }) => worseSeverity(worst, severity), null)

export const worseSeverity = (one: Severity | null, other: Severity | null): Severity | null =>
  severities.find((each) => each === one || each === other) ?? null

const isWithin = (key: string, about: string): boolean =>
  key === about || (key.startsWith(`${about}.`) && !key.startsWith(`${about}.candidate`))
