import type { ShiftPlan } from './shift-plan.ts'
import { resumed, type ShiftNote, type ShiftRecord, withOrder, withPause, withStop } from './shift-record.ts'

export type ShiftOrder =
  | { readonly kind: 'to'; readonly share: number; readonly ttlMs: number }
  /** The steps stay where they are. `ttlMs` null: until an operator resumes. */
  | { readonly kind: 'pause'; readonly ttlMs: number | null }
  /** The file's word holds. After a stop, its steps begin anew. */
  | { readonly kind: 'resume' }
  /** The share is 0 until an operator says otherwise. */
  | { readonly kind: 'abort' }

/** What is said of an order: by whom, and why. */
export type ShiftWords = Omit<ShiftNote, 'since'>

/** `epoch` is the wall clock's time. */
export const applyOrder = (
  record: ShiftRecord,
  plan: ShiftPlan,
  order: ShiftOrder,
  words: ShiftWords,
  epoch: number,
): ShiftRecord => {
  const note = { ...words, since: epoch }
  switch (order.kind) {
    case 'to':
      return withOrder(record, { share: order.share, leftMs: order.ttlMs, ...note })
    case 'pause':
      return withPause(record, { leftMs: order.ttlMs, ...note })
    case 'resume':
      return resumed(record, plan, epoch)
    case 'abort':
      return withStop(record, { cause: 'operator', ...note })
  }
}
