import type { CommandConfirmation } from '../../../core/admin/commands/command.ts'
import { paragraphs, spellDuration } from '../../../core/admin/commands/phrases.ts'
import { html } from '../../../core/admin/html.ts'
import { formatPercent } from '../../../core/lib/text/units.ts'
import { describeAfterwards, describeShift, type ShiftStatus, shiftStatus } from '../status/shift-status.ts'
import type { PlannedShift } from './plan-shift.ts'

const usualShares: readonly number[] = [0.01, 0.05, 0.25, 0.5, 1]

/** Lists the shares that an operator may want: the usual ones, and that of the next step. */
export const listShareChoices = ({ step }: Pick<ShiftStatus, 'step'>): readonly number[] =>
  [...new Set([...usualShares, ...(step?.nextShare == null ? [] : [step.nextShare])])].sort((a, b) => a - b)

const asksReasonAlone = { ttlMs: null, asksReason: true } as const

export const confirmShift = ({ group, order, before, after }: PlannedShift): CommandConfirmation => {
  const status = shiftStatus(before)
  const now = html`Now it gets ${describeShift(status)}.`
  switch (order.kind) {
    case 'to': {
      const { afterwards, paused } = shiftStatus(after)
      return {
        title: `Shift ${formatPercent(order.share)} of the clients of ${group}?`,
        what: paragraphs(
          html`For ${spellDuration(order.ttlMs)} the candidate of ${group} gets ${formatPercent(order.share)} of the clients. ${order.share >= before.share ? 'The clients that are there stay.' : 'The others go back to the primary.'}`,
          now,
          before.isStopped && 'The order goes before that, as long as it holds.',
          afterwards !== null && html`After that time it gets ${describeAfterwards(afterwards, paused !== null)}.`,
        ),
        ttlMs: order.ttlMs,
        ttlName: 'for',
        choices: {
          name: 'to',
          words: 'Another share',
          values: listShareChoices(status)
            .filter((share) => share !== order.share)
            .map(formatPercent),
        },
        asksReason: true,
        button: 'Shift them',
      }
    }
    case 'pause':
      return {
        title: `Pause the steps of ${group}?`,
        what: paragraphs(
          order.ttlMs === null
            ? 'No further step begins until an operator resumes them.'
            : html`No further step begins for ${spellDuration(order.ttlMs)}.`,
          now,
        ),
        ...asksReasonAlone,
        button: 'Pause them',
      }
    case 'resume':
      return {
        title: `Resume what the file says of the candidate of ${group}?`,
        what: paragraphs(now, html`Then it gets ${describeShift(shiftStatus(after))}.`),
        ...asksReasonAlone,
        button: 'Resume it',
      }
    case 'abort':
      return {
        title: `Abort the shift of ${group}?`,
        what: paragraphs(
          html`Nothing goes to the candidate of ${group} any more: no share of the clients, no client by name, no copies. What is under way there is finished.`,
          now,
          'It stays so until an operator says otherwise, or the candidate’s part of the file changes.',
        ),
        ...asksReasonAlone,
        button: 'Abort it',
      }
  }
}
