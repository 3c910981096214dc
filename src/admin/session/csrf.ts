import type { FastifyRequest } from 'fastify'
import type { AdminError } from '../admin-error.ts'
import { constantTimeEqual } from '../guard.ts'
import { type Html, html } from '../page/html.ts'
import { getPrincipal, type Principal } from './principal.ts'

const csrfFieldName = 'formToken'

/** Renders the hidden field that makes a form count. */
export const csrfTokenField = ({ csrfToken }: Principal): Html =>
  html`<input type="hidden" name="${csrfFieldName}" value="${csrfToken}">`

/**
 * Parses a form. A form that was not made here for this principal is rejected: another page may have had the browser
 * send it.
 */
export const parseForm = (request: FastifyRequest): URLSearchParams | AdminError => {
  const fields = new URLSearchParams(typeof request.body === 'string' ? request.body : '')
  const [given, another] = fields.getAll(csrfFieldName)
  const isOurs = constantTimeEqual(given ?? '', getPrincipal(request).csrfToken) && another === undefined
  fields.delete(csrfFieldName)
  return isOurs ? fields : forgedForm
}

const forgedForm: AdminError = {
  status: 403,
  code: 'form-not-from-here',
  detail: 'this form was not made for your session, or its session is over: nothing was done; open the page again',
}

/** Renders the logout form; null: there is no session. */
export const logoutForm = (principal: Principal): Html | null =>
  principal.session === null
    ? null
    : html`<form method="post" action="/logout">${csrfTokenField(principal)}<button type="submit">Log out</button></form>`
