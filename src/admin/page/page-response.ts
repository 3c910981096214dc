import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formatProblem } from '../../config/problem.ts'
import { type AdminError, sendProblem } from '../admin-error.ts'
import { assetPath } from './assets.ts'
import { type Html, type HtmlValue, html } from './html.ts'

/**
 * What a page may load, and from where: a stylesheet, and forms, of this listener. `more` of a page that needs more, `script-src 'self'` say.
 * Nobody may put it into a frame, where a click on it would be meant for something else.
 */
export const contentSecurityPolicy = (...more: readonly string[]): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    'img-src data:', // the icon that is none, so that no browser asks for one
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...more,
  ].join('; ')

/** What every page says of itself. */
const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy(),
  'X-Frame-Options': 'DENY', // of browsers before frame-ancestors
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  // Not no-referrer: a browser then sends `Origin: null` with the page's own forms, which nobody could tell from a foreign one.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const

/** Answers with a page; `fields` of one that says more of itself, or otherwise. */
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

/** Tells whether a person asks, by a browser that goes to a page. */
export const acceptsHtml = ({ accept }: IncomingHttpHeaders): boolean => accept?.includes('text/html') ?? false

/** Refuses: a person by a page, a program by a problem. */
export const sendAdminError = (
  { headers }: FastifyRequest,
  reply: FastifyReply,
  rejection: AdminError,
): FastifyReply =>
  acceptsHtml(headers)
    ? sendPage(reply.headers(rejection.headers ?? {}), rejection.status, errorPage(rejection))
    : sendProblem(reply, rejection)

/** Writes a reason as a sentence. */
export const toSentence = (reason: string): string => `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`

const errorPage = ({ status, detail, problems = [] }: AdminError): Html => {
  const title = status < 500 ? 'Refused' : 'Not done as asked'
  return renderLayout({
    title,
    body: html`<h1>${title}</h1>
<p role="alert">${toSentence(detail)}</p>
${problems.map((problem) => html`<pre>${formatProblem(problem)}</pre>\n`)}<p><a href="/">To the overview</a></p>`,
  })
}

/** Is what a page is made of. */
export interface PageContent {
  readonly title: string
  /** What stands in `<main>`, an `<h1>` first. */
  readonly body: HtmlValue
  /** What else stands in `<head>`: the scripts of a page that has some. */
  readonly head?: HtmlValue
  /** What stands beside the name of the gateway, above `<main>`. */
  readonly beside?: HtmlValue
}

/** Puts a page of the operator's listener together: one look, and nothing that runs unless `head` has it. */
export const renderLayout = ({ title, body, head, beside }: PageContent): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · lender gateway</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assetPath('page.css')}">
${head}</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><a class="name" href="/">lender gateway</a>${beside}</header>
<main id="main" tabindex="-1">
${body}
</main>
</body>
</html>
`
