import { formatDuration } from '../../../units.ts'
import { formTokenField } from '../../session/forms.ts'
import { logoutForm } from '../../session/logout-form.ts'
import type { Visitor } from '../../session/visitor.ts'
import { type Html, html } from '../html.ts'
import { layout } from '../layout.ts'
import { type Action, hrefOf, type Question, type Said } from './action.ts'
import { spoken } from './words.ts'

const minute = 60_000
const choices: readonly number[] = [5 * minute, 15 * minute, 60 * minute, 4 * 60 * minute, 24 * 60 * minute]

/** Asks once more before an action is done: what is shown is what the form then says, word for word. */
export const confirmPage = ({ name }: Action, said: Said, question: Question, visitor: Visitor): Html => {
  const { title, what, ttlMs, button } = question
  const fields = ttlMs === null ? said : { ...said, ttl: formatDuration(ttlMs) }
  return layout({
    title,
    beside: logoutForm(visitor),
    body: html`<h1>${title}</h1>
${what}${ttlMs === null ? null : otherTimes(name, said, ttlMs)}<form method="post" action="/actions/${name}">
${formTokenField(visitor)}
${Object.entries(fields).map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}">\n`)}<p><button type="submit">${button}</button> <a href="/">Leave it as it is</a></p>
</form>`,
  })
}

const otherTimes = (name: Action['name'], said: Said, ttlMs: number): Html => html`<p>For another time:
${choices
  .filter((ms) => ms !== ttlMs)
  .map(
    (ms, i) =>
      html`${i === 0 ? null : ' · '}<a href="${hrefOf(name, { ...said, ttl: formatDuration(ms) })}">${spoken(ms)}</a>`,
  )}</p>
`
