import { type Html, html } from '../page/html.ts'
import { formTokenField } from './forms.ts'
import type { Visitor } from './visitor.ts'

/** Shows what was done last, once; null: there is nothing to show. */
export const doneNote = (visitor: Visitor): Html | null => {
  const message = visitor.noted()
  return message === null ? null : html`<p class="done" role="status">${message}</p>\n`
}

/** Shows how to end the session; null: there is none. */
export const logoutForm = (visitor: Visitor): Html | null =>
  visitor.session === null
    ? null
    : html`<form class="logout" method="post" action="/logout">${formTokenField(visitor)}<button type="submit">Log out</button></form>`
