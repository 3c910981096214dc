import type { Link, Places } from '../commands/command.ts'
import { commandGroups } from '../commands/commands.ts'
import { hrefOf } from '../commands/words.ts'
import { type Html, html } from './html.ts'

/** Writes what can be done about something that the overview shows. */
export const links = <Place extends keyof Places>(place: Place, about: Places[Place]): readonly Html[] =>
  commandGroups
    .flatMap(({ commands }) =>
      commands.flatMap(({ page, links }) => {
        const link = links[place]?.(about)
        return link == null ? [] : [action(page, link)]
      }),
    )
    .map((link, i) => (i === 0 ? link : html` ${link}`))

/** Writes a link to the page of a command, which asks before anything happens. */
const action = (page: string, { given, words, about }: Link): Html => {
  const id = `do-${page}${Object.values(given).map((value) => `-${value}`)}`
  return html`<a class="action" id="${id}" href="${hrefOf(page, given)}">${words}${about !== undefined && html`<span class="unseen"> ${about}</span>`}</a>`
}
