import type { FastifyReply } from 'fastify'
import type { Html } from './html.ts'

/**
 * What a page may load, and from where: a stylesheet, and forms, of this listener. `more` of a page that needs more, `script-src 'self'` say.
 * Nobody may put it into a frame, where a click on it would be meant for something else.
 */
export const policy = (...more: readonly string[]): string =>
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
export const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': policy(),
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
