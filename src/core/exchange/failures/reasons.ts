import { type FailureKind, failureTable } from './kinds.ts'
import { type ReasonRow, reasonRows } from './reason-rows.ts'

/** One of the reasons: `reason` in the log. */
export type FailureReason = keyof typeof reasonRows

export type ReasonFor<K extends FailureKind> = {
  [R in FailureReason]: K extends (typeof reasonRows)[R]['kinds'][number] ? R : never
}[FailureReason]

/** The row of each reason, in the order of the table. */
export const reasonTable: Readonly<Record<FailureReason, ReasonRow<FailureKind>>> = reasonRows

export const reasonsFor = <K extends FailureKind>(...kinds: readonly K[]): readonly ReasonFor<K>[] =>
  (Object.keys(reasonRows) as FailureReason[]).filter((reason): reason is ReasonFor<K> =>
    kinds.some((kind) => reasonTable[reason].kinds.includes(kind)),
  )

/** Returns a reason in words, with its code, without a full stop. */
export const reasonText = (reason: FailureReason): string => {
  const { text, code } = reasonTable[reason]
  return code === null ? text : `${text} (${code})`
}

export const failureText = (kind: FailureKind, reason: FailureReason | null): string =>
  reason === null ? failureTable[kind].text : reasonText(reason)
