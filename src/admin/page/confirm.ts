import { formatDuration } from '../../units.ts'
import type { Confirmation } from '../commands/command.ts'
import { hrefOf, spoken } from '../commands/words.ts'
import { formTokenField, logoutForm } from '../session/forms.ts'
import type { Visitor } from '../session/sessions.ts'
import { type Html, html } from './html.ts'
import { layout } from './layout.ts'

const minute = 60_000
const choices: readonly number[] = [5 * minute, 15 * minute, 60 * minute, 4 * 60 * minute, 24 * 60 * minute]

/** Asks once more before a command is run: what is shown is what the form then says, word for word. */
export const confirmPage = (
  page: string,
  given: Readonly<Record<string, string>>,
  { title, what, ttlMs, button }: Confirmation,
  visitor: Visitor,
): Html => {
  const fields = ttlMs === null ? given : { ...given, ttl: formatDuration(ttlMs) }
  return layout({
    title,
    beside: logoutForm(visitor),
    body: html`<h1>${title}</h1>
${what}${ttlMs === null ? null : otherTimes(page, given, ttlMs)}<form method="post" action="${hrefOf(page)}">
${formTokenField(visitor)}
${Object.entries(fields).map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}">\n`)}<p><button type="submit">${button}</button> <a href="/">Leave it as it is</a></p>
</form>`,
  })
}

const otherTimes = (
  page: string,
  given: Readonly<Record<string, string>>,
  ttlMs: number,
): Html => html`<p>For another time:
${choices
  .filter((ms) => ms !== ttlMs)
  .map(
    (ms, i) =>
      html`${i === 0 ? null : ' · '}<a href="${hrefOf(page, { ...given, ttl: formatDuration(ms) })}">${spoken(ms)}</a>`,
  )}</p>
`
