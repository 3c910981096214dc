import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AdminError, sendProblem } from '../../../core/admin/admin-error.ts'
import { formatInstance } from '../../../core/admin/api/format-instance.ts'
import { type Html, type HtmlValue, html } from '../../../core/admin/html.ts'
import type { InstanceConfig } from '../../../core/config/config.ts'
import { formatProblem } from '../../../core/config/problem.ts'
import { assetPath } from './assets.ts'

/**
 * Builds the policy of what a page may load, and from where: a stylesheet, and forms, of this listener. `more` holds
 * what a page needs beyond that, such as `script-src 'self'`. No site may put the page into a frame, where a click on
 * it would be meant for something else.
 */
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
  // Not no-referrer: a browser then sends `Origin: null` with the page's own forms, which looks like a foreign page's.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const

/** Sends a page; `fields` add to its headers, or replace them. */
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

/**
 * Sends an error: to a browser as a page, to a program as a problem. `instance` null: the client may not know, because
 * it has not logged in.
 */
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
  /** Which gateway it is; null or missing: that is not said. */
  readonly instance?: ShownInstance | null
  /** The content of `<main>`, an `<h1>` first. */
  readonly body: HtmlValue
  /** Further content of `<head>`: the scripts of a page that has some. */
  readonly head?: HtmlValue
  /** What stands beside the name of the gateway, above `<main>`. */
  readonly beside?: HtmlValue
}

/** Renders a page of the operator's listener: one look, and nothing that runs unless `head` has it. */
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
