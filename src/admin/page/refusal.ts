import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formatProblem } from '../../config/problem.ts'
import { type Refusal, sendProblem } from '../problem.ts'
import { type Html, html } from './html.ts'
import { layout } from './layout.ts'
import { sendPage } from './send.ts'

/** Tells whether a person asks, by a browser that goes to a page. */
export const wantsPage = ({ accept }: IncomingHttpHeaders): boolean => accept?.includes('text/html') ?? false

/** Refuses: a person by a page, a program by a problem. */
export const refuse = ({ headers }: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply =>
  wantsPage(headers)
    ? sendPage(reply.headers(refusal.fields ?? {}), refusal.status, refusalPage(refusal))
    : sendProblem(reply, refusal)

/** Writes a reason as a sentence. */
export const sentence = (reason: string): string => `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`

const refusalPage = ({ status, detail, problems = [] }: Refusal): Html => {
  const title = status < 500 ? 'Refused' : 'Not done as asked'
  return layout({
    title,
    body: html`<h1>${title}</h1>
<p role="alert">${sentence(detail)}</p>
${problems.map((problem) => html`<pre>${formatProblem(problem)}</pre>\n`)}<p><a href="/">To the overview</a></p>`,
  })
}
