import { notReplyingHint, WorkersNotReplyingError } from '../../runtime/proxy-server.ts'
import type { AdminError } from '../admin-error.ts'
import { type HtmlValue, html } from '../html.ts'

const units = [
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const

/** `15 minutes`, `1 hour 30 minutes`. */
export const spellDuration = (ms: number): string => {
  let left = ms
  const parts = units.flatMap(([unit, length]) => {
    const count = Math.floor(left / length)
    left -= count * length
    return count === 0 ? [] : [pluralize(count, unit)]
  })
  return parts.join(' ')
}

export const pluralize = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

export const sinceStart = 'since the start'

export const joinFirst = (names: readonly string[], max: number, between = ', '): string => {
  const more = names.length - max
  return [...names.slice(0, max), ...(more > 0 ? [`${more} more`] : [])].join(between)
}

export const paragraphs = (...each: readonly HtmlValue[]): HtmlValue =>
  each.filter((one) => one !== null && one !== false && one !== '').map((one) => html`<p>${one}</p>\n`)

export const untilPhrase = (until: string | null): string => (until === null ? '' : ` until ${until}`)

export const actionHref = (page: string, args: Readonly<Record<string, string>> = {}): string => {
  const query = new URLSearchParams(args).toString()
  return `/actions/${page}${query === '' ? '' : `?${query}`}`
}

export const truncate = (text: string, maxLength: number): string =>
  text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text

export const workersNotReplying = (detail: string): AdminError => ({
  status: 503,
  code: 'workers-not-replying',
  detail,
})

/** No worker serves, or the serving workers ended. */
export const noWorkerReplied = workersNotReplying('no worker has replied: ask again when one does, or was replaced')

export const toAdminError = (error: unknown): AdminError => {
  if (!(error instanceof WorkersNotReplyingError)) throw error
  return workersNotReplying(`${error.message}: ${notReplyingHint}`)
}
