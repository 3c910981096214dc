import { type FindingSubject, type Severity, severities } from '../../../core/admin/findings/finding.ts'
import type { Html } from '../../../core/admin/html.ts'
import { type BadgeTone, badge } from '../../../core/admin/page-components.ts'

export const severityTones: Readonly<Record<Severity, BadgeTone>> = {
  critical: 'bad',
  warning: 'warning',
  notice: 'notice',
}

/** What is known of how something goes: an operation, a group, an endpoint, a worker, the gateway. */
export interface RowFacts {
  /** What it is called while it works: `serves`, `up`. */
  readonly well: string
  /** What it is called while nothing is known of it: no request came; by default `idle`. */
  readonly untried?: string
  /** In a word, that it was taken out on purpose: `refused`, `draining`; null: it was not. */
  readonly takenOut?: string | null
  /** In a word, that it cannot serve: `down`, `fails`; null: it can, as far as is known. */
  readonly dead?: string | null
  /** In a word, that it is out for a while, or serves in part: `ejected`, `1 of 2 up`; null: it is not. */
  readonly partly?: string | null
  /** How many requests came of late, or how many a second; null: nothing is counted. */
  readonly requests?: RecentRequests | null
  /** How bad it is what may keep all from it, and stands further up: instead of `untried`; null: nothing may. */
  readonly doubt?: Severity | null
  /** Whether something shows that it works: a probe, or the last request; by default, that requests came of late. */
  readonly isProven?: boolean
  /** The worst of the findings about it; null: there is none. */
  readonly finding?: Severity | null
}

interface RecentRequests {
  readonly all: number
  /** Those that failed: not by the client's fault. */
  readonly failed: number
  /** Those that the gateway rejected by the client's fault, or that the client left. */
  readonly refused: number
}

export interface RowState {
  readonly tone: BadgeTone
  readonly words: string
}

export const stateBadge = ({ tone, words }: RowState): Html => badge(tone, words)

// What makes up for rates that were rounded.
const epsilon = 1e-6

/**
 * Derives the state of a row from what is known: how it goes, not what is switched. It is good only where something
 * shows that it works, and nothing that it does not.
 */
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

/** Tells whether a row stays when only problems are shown. */
export const isProblem = ({ tone }: RowState): boolean => tone === 'bad' || tone === 'warning'

/** Derives the state from the requests alone; null: they say nothing against it. */
const failureState = ({ all, failed, refused }: RecentRequests): RowState | null => {
  if (all <= 0) return null
  const letIn = all - refused
  if (failed > 0 && failed > letIn - epsilon) return { tone: 'bad', words: 'fails' }
  if (failed > 0) {
    const share = failed / letIn
    return { tone: share >= 0.5 ? 'bad' : 'warning', words: `${formatPercentage(share)} fail` }
  }
  return letIn <= epsilon ? { tone: 'warning', words: 'serves none' } : null
}

const formatPercentage = (share: number): string => (share < 0.01 ? 'under 1 %' : `${Math.round(share * 100)} %`)

/**
 * Finds the worst severity of the findings about a key of the file, or a key below it; of those that name an endpoint,
 * where one is given. The candidate of a group is a thing of its own.
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
