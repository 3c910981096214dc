import type { Config } from '../../../core/config/config.ts'
import { type Group, groups } from '../../../operations.ts'
import type { CandidateConfig } from '../config/candidate.ts'

export interface ShiftPlan {
  /** The digest of the candidate's part of the file. With another, what operators and the guard said is forgotten. */
  readonly digest: string
  /** From 0 to 1. */
  readonly share: number
  /** Null: the share stays as it is. */
  readonly steps: StepsPlan | null
}

interface StepsPlan {
  /** Rising, each from 0 to 1. */
  readonly shares: readonly number[]
  readonly everyMs: number
  /** When the first step began or begins, in milliseconds since the epoch. Null: when the gateway has the plan. */
  readonly startedAt: number | null
}

export type ShiftPlans = Readonly<Partial<Record<Group, ShiftPlan>>>

/** Names a plan of a group among those that come and go with edits. */
export const shiftKey = (group: Group, digest: string): string => `${group} ${digest}`

export const listShiftPlans = ({ upstreams }: Pick<Config, 'upstreams'>): ShiftPlans =>
  Object.fromEntries(
    groups.flatMap((group) => {
      const { candidate } = upstreams[group]
      if (candidate === null) return []
      const { digest, share, steps } = candidate
      return [[group, { digest, share, steps: steps && toStepsPlan(steps) }] as const]
    }),
  )

const toStepsPlan = ({ shares, every, startedAt }: NonNullable<CandidateConfig['steps']>): StepsPlan => ({
  shares,
  everyMs: every,
  startedAt,
})
