import { type FindingSubject, type Severity, severities } from '../../../core/admin/findings/finding.ts'
import type { Html } from '../../../core/admin/html.ts'
import { type BadgeTone, badge } from '../../../core/admin/page-components.ts'

export const severityTones: Readonly<Record<Severity, BadgeTone>> = {
  critical: 'bad',
  warning: 'warning',
  notice: 'notice',
}

export interface RowFacts {
  /** The word for a working row: `serves`, `up`. */
  readonly well: string
  /** The word when no request came; default: `idle`. */
  readonly untried?: string
  /** Taken out on purpose: `rejected`, `draining`. */
  readonly takenOut?: string | null
  /** Cannot serve: `down`, `fails`. */
  readonly dead?: string | null
  /** Out for a while, or serves in part: `ejected`, `1 of 2 up`. */
  readonly partly?: string | null
  /** Recent requests, as a count or per second; null: not counted. */
  readonly requests?: RecentRequests | null
  /** The severity of a wider problem that may keep requests away, shown instead of `untried`. */
  readonly doubt?: Severity | null
  /** A probe or the last request succeeded; default: there were recent requests. */
  readonly isProven?: boolean
  /** The worst finding about the row. */
  readonly finding?: Severity | null
}

interface RecentRequests {
  readonly all: number
  /** Not by the client's fault. */
  readonly failed: number
  /** Rejected by the client's fault, or left by the client. */
  readonly rejected: number
}

export interface RowState {
  readonly tone: BadgeTone
  readonly words: string
}

export const stateBadge = ({ tone, words }: RowState): Html => badge(tone, words)

// Absorbs the rounding of rates.
const epsilon = 1e-6

/** A row is good only with evidence that it works, and none that it does not. Switches do not count. */
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

/** Null: the requests show no failure. */
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

/** The worst of a key and the keys below, limited to `endpoint` where given. A group's candidate counts separately. */
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
