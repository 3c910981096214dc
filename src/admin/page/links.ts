import type { Places } from '../commands/command.ts'
import { commandGroups } from '../commands/commands.ts'
import { type Html, html } from './html.ts'
import { action } from './marks.ts'

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
