import { sum } from '../../../core/log/sum-reports.ts'
import type { ShadowReport } from '../observe/shadow-counts.ts'

type Counts = Readonly<Record<string, number>>

/** Describes what became of copies: `1204 sent (1200 2xx, 4 failed), 31 not sent (30 full, 1 no-room)`. */
export const describeShadow = (
  { sent, outcomes, dropped }: Pick<ShadowReport, 'sent'> & { readonly outcomes: Counts; readonly dropped: Counts },
  formatCount: (count: number) => string = String,
): string => {
  const list = (counts: Counts): readonly string[] =>
    Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${formatCount(count)} ${name}`]))
  const notSent = sum(Object.values(dropped))
  const parts = [
    [`${formatCount(sent)} sent`, list(outcomes)] as const,
    ...(notSent === 0 ? [] : [[`${formatCount(notSent)} not sent`, list(dropped)] as const]),
  ]
  return parts.map(([what, of]) => (of.length === 0 ? what : `${what} (${of.join(', ')})`)).join(', ')
}
