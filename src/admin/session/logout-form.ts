import { type Html, html } from '../page/html.ts'
import { formTokenField } from './forms.ts'
import type { Visitor } from './visitor.ts'

/** Shows how to end the session; null: there is none. */
export const logoutForm = (visitor: Visitor): Html | null =>
  visitor.session === null
    ? null
    : html`<form method="post" action="/logout">${formTokenField(visitor)}<button type="submit">Log out</button></form>`
