import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { getPrincipal, type Principal } from '../../../core/admin/access/principal.ts'
import { type AdminError, sendProblem } from '../../../core/admin/admin-error.ts'
import { formatInstance } from '../../../core/admin/api/status.ts'
import { type Html, type HtmlValue, html } from '../../../core/admin/html.ts'
import type { InstanceConfig } from '../../../core/config/config.ts'
import { formatProblem } from '../../../core/config/problem.ts'
import { constantTimeEqual } from '../../../core/lib/secrets.ts'
import { assetPath } from './assets.ts'

/** Allows the listener's own style sheet and forms, and `more`. Framing is clickjacking. */
export const contentSecurityPolicy = (...more: readonly string[]): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    'img-src data:', // the empty icon, so that no browser asks for one
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...more,
  ].join('; ')

const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy(),
  'X-Frame-Options': 'DENY', // for browsers without frame-ancestors
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  // With `no-referrer`, a browser sends `Origin: null` with the page's own forms, like a foreign page.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const

export const sendPage = (
  reply: FastifyReply,
  status: number,
  page: Html,
  fields: Readonly<Record<string, string>> = {},
): FastifyReply =>
  reply
    .code(status)
    .headers({ ...pageHeaders, ...fields })
    .send(page.toString())

export const acceptsHtml = ({ accept }: IncomingHttpHeaders): boolean => accept?.includes('text/html') ?? false

/** A page for browsers, a problem for programs. `instance` null: a client without a login may not know the gateway. */
export const sendAdminError = (
  { headers }: FastifyRequest,
  reply: FastifyReply,
  rejection: AdminError,
  instance: InstanceConfig | null = null,
): FastifyReply =>
  acceptsHtml(headers)
    ? sendPage(reply.headers(rejection.headers ?? {}), rejection.status, errorPage(rejection, instance))
    : sendProblem(reply, rejection)

export const toSentence = (reason: string): string => `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`

const errorPage = ({ status, detail, problems = [] }: AdminError, instance: InstanceConfig | null): Html => {
  const title = status < 500 ? 'Rejected' : 'Failed'
  return renderLayout({
    title,
    instance,
    body: html`<h1>${title}</h1>
<p role="alert">${toSentence(detail)}</p>
${problems.map((problem) => html`<pre>${formatProblem(problem)}</pre>\n`)}<p><a href="/">To the overview</a></p>`,
  })
}

type ShownInstance = Pick<InstanceConfig, 'name' | 'environment' | 'color'>

interface PageContent {
  readonly title: string
  readonly instance?: ShownInstance | null
  /** Begins with an `<h1>`. */
  readonly body: HtmlValue
  readonly head?: HtmlValue
  readonly beside?: HtmlValue
}

export const renderLayout = ({ title, instance = null, body, head, beside }: PageContent): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${formatTitle(title, instance)} · lender gateway</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assetPath('page.css')}">
${head}</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><a class="name" href="/">lender gateway</a>${instanceHtml(instance)}${beside}</header>
<main id="main" tabindex="-1">
${body}
</main>
</body>
</html>
`

export const formatTitle = (title: string, instance: ShownInstance | null): string =>
  [title, formatInstance(instance)].filter((each) => each !== null).join(' · ')

export const instanceId = 'which-gateway'

export const instanceHtml = (instance: ShownInstance | null): Html =>
  html`<span id="${instanceId}" class="instance ${instance?.color ?? 'gray'}">${formatInstance(instance)}</span>`

export const instanceParagraph = (instance: ShownInstance | null): Html | null => {
  const words = formatInstance(instance)
  return words === null ? null : html`<p>On <strong class="instance ${instance?.color}">${words}</strong>:</p>\n`
}

const csrfFieldName = 'formToken'

export const csrfTokenField = ({ csrfToken }: Principal): Html =>
  html`<input type="hidden" name="${csrfFieldName}" value="${csrfToken}">`

/** CSRF: rejects a form that another site had the browser send. */
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
  detail: 'your session is over, or this form belongs to another session: nothing was done; open the page again',
}

/** Null: the listener asks for no credential. */
export const logoutForm = (principal: Principal): Html | null => {
  const { operator, session } = principal
  if (operator === null || operator.name === null) return null
  const rights = operator.scope === 'operate' ? null : html`, may read and send no commands`
  return html`<p class="who" data-scope="${operator.scope}"><b>${operator.name}</b>${rights}</p>${
    session !== null &&
    html`<form method="post" action="/logout">${csrfTokenField(principal)}<button type="submit">Log out</button></form>`
  }`
}
