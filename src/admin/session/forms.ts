import type { FastifyRequest } from 'fastify'
import { isSame } from '../guard.ts'
import { type Html, html } from '../page/html.ts'
import type { Refusal } from '../problem.ts'
import { type Visitor, visitorOf } from './sessions.ts'

const name = 'formToken'

/** Writes what every form holds, so that it is believed. */
export const formTokenField = ({ formToken }: Visitor): Html =>
  html`<input type="hidden" name="${name}" value="${formToken}">`

/** Takes what a form says. One that was not made here for who sends it is refused: another page may have had the browser send it. */
export const formOf = (request: FastifyRequest): URLSearchParams | Refusal => {
  const fields = new URLSearchParams(typeof request.body === 'string' ? request.body : '')
  const [given, another] = fields.getAll(name)
  const isOurs = isSame(given ?? '', visitorOf(request).formToken) && another === undefined
  fields.delete(name)
  return isOurs ? fields : forged
}

const forged: Refusal = {
  status: 403,
  code: 'form-not-from-here',
  detail: 'this form was not made for your session, or its session is over: nothing was done; open the page again',
}

/** Shows how to end the session; null: there is none. */
export const logoutForm = (visitor: Visitor): Html | null =>
  visitor.session === null
    ? null
    : html`<form method="post" action="/logout">${formTokenField(visitor)}<button type="submit">Log out</button></form>`
