import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AdminError, sendProblem } from '../../../core/admin/admin-error.ts'
import { formatInstance } from '../../../core/admin/api/status.ts'
import { type Html, type HtmlValue, html } from '../../../core/admin/html.ts'
import type { InstanceConfig } from '../../../core/config/config.ts'
import { formatProblem } from '../../../core/config/problem.ts'
import { assetPath } from './assets.ts'

/** Allows the listener's own stylesheet and forms, and `more`. No site may frame the page: clickjacking. */
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

/** `fields` add to the page's header fields, or replace them. */
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

/** A page to browsers, a problem to programs. `instance` null: a client without a login may not know the gateway. */
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
  const title = status < 500 ? 'Refused' : 'Not done as asked'
  return renderLayout({
    title,
    instance,
    body: html`<h1>${title}</h1>
<p role="alert">${toSentence(detail)}</p>
${problems.map((problem) => html`<pre>${formatProblem(problem)}</pre>\n`)}<p><a href="/">To the overview</a></p>`,
  })
}

type ShownInstance = Pick<InstanceConfig, 'name' | 'environment' | 'colour'>

interface PageContent {
  readonly title: string
  /** Null or missing: the page does not name the gateway. */
  readonly instance?: ShownInstance | null
  /** The content of `<main>`, an `<h1>` first. */
  readonly body: HtmlValue
  readonly head?: HtmlValue
  readonly beside?: HtmlValue
}

/** Nothing runs unless `head` has it. */
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
  html`<span id="${instanceId}" class="instance ${instance?.colour ?? 'grey'}">${formatInstance(instance)}</span>`

export const instanceParagraph = (instance: ShownInstance | null): Html | null => {
  const words = formatInstance(instance)
  return words === null ? null : html`<p>On <strong class="instance ${instance?.colour}">${words}</strong>:</p>\n`
}
