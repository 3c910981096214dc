import type { FastifyReply } from 'fastify'
import type { ConfigProblem } from '../config/problem.ts'
import { reasonPhrase } from '../exchange/failures/failure-table.ts'
import { escapeQuotedControls } from '../lib/text/escape-controls.ts'

/** Its readers run the gateway, so it tells the cause. */
export interface AdminError {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>>
  readonly problems?: readonly ConfigProblem[]
  /** Further members of the body (RFC 9457 §3.2). */
  readonly extensions?: Readonly<Record<string, unknown>>
  /** What a rejected command did nevertheless: logged and recorded with the error's code. */
  readonly done?: Readonly<Record<string, string | number | boolean | null>>
}

export const isAdminError = (result: object): result is AdminError => 'detail' in result

/** Renders JSON with escaped control characters: causes quote Redis or an upstream, and terminals print them. */
export const renderAdminJson = (value: unknown): string => escapeQuotedControls(JSON.stringify(value))

/** Sends a problem response (RFC 9457). */
export const sendProblem = (reply: FastifyReply, error: AdminError): FastifyReply => {
  const { status, code, detail, headers, problems, extensions } = error
  const members = { type: 'about:blank', title: reasonPhrase(status), status, code, detail, problems, ...extensions }
  return reply
    .code(status)
    .headers(headers ?? {})
    .header('Content-Type', 'application/problem+json')
    .send(Buffer.from(renderAdminJson(members))) // for a string, Fastify would add a charset
}
