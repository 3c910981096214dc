import type { FastifyRequest } from 'fastify'
import { getPrincipal, type Principal } from '../../../core/admin/access/principal.ts'
import type { AdminError } from '../../../core/admin/admin-error.ts'
import { type Html, html } from '../../../core/admin/html.ts'
import { constantTimeEqual } from '../../../core/lib/secrets.ts'

const csrfFieldName = 'formToken'

export const csrfTokenField = ({ csrfToken }: Principal): Html =>
  html`<input type="hidden" name="${csrfFieldName}" value="${csrfToken}">`

/** Rejects a form that was not made for this principal: another page may have had the browser send it (CSRF). */
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

/** Null: the listener knows no operator. */
export const logoutForm = (principal: Principal): Html | null => {
  const { operator, session } = principal
  if (operator === null || operator.name === null) return null
  const rights = operator.scope === 'operate' ? null : html`, may read and give no orders`
  return html`<p class="who" data-scope="${operator.scope}"><b>${operator.name}</b>${rights}</p>${
    session !== null &&
    html`<form method="post" action="/logout">${csrfTokenField(principal)}<button type="submit">Log out</button></form>`
  }`
}
