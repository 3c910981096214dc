import { changesBetween } from '../../../config/changes.ts'
import type { Change } from '../../../config/diff.ts'
import { nothingBefore, refusalOf } from '../../carry-out.ts'
import { isRefusal } from '../../problem.ts'
import { html } from '../html.ts'
import type { Action } from './action.ts'
import { applied, changed } from './outcome.ts'
import { paragraphs } from './words.ts'

const mostShown = 20

/** Brings back the configuration before this one. */
export const rollback: Action = {
  name: 'rollback',
  takes: [],
  async ask({ reloader: { running, previous, file } }) {
    if (previous === null) return nothingBefore
    const changes = changesBetween(running, previous)
    const more = changes.length - mostShown
    return {
      title: 'Roll back the configuration?',
      what: [
        paragraphs(
          html`The configuration before this one takes effect at once: ${previous.config.hash} instead of ${running.config.hash}, ${changed(changes)}.`,
        ),
        html`<ul>${changes.slice(0, mostShown).map(shown)}${more > 0 ? html`<li>${more} more</li>` : null}</ul>\n`,
        paragraphs(
          html`${file} is left alone, so it says something else than what runs. It is taken again when it changes, or at a reload.`,
          'Who may come in stays as it is now: clients, certificates of clients, and this listener.',
        ),
      ],
      ttlMs: null,
      button: 'Roll back',
    }
  },
  async act(orders) {
    const outcome = await orders.rollback()
    if (isRefusal(outcome)) return outcome
    return outcome.result === 'refused' ? refusalOf(outcome) : applied(outcome)
  },
}

const shown = ({ path, from, to }: Change) => html`<li><code>${path}</code>: ${value(from)} → ${value(to)}</li>`

const value = (of: unknown): string => {
  const text = of === null ? 'not set' : JSON.stringify(of)
  return text.length > 200 ? `${text.slice(0, 199)}…` : text
}
