import type { FastifyReply } from 'fastify'
import type { ConfigProblem } from '../config/problem.ts'
import { reasonPhrase } from '../exchange/failures/kinds.ts'
import { escapeQuotedControls } from '../lib/text/escape-controls.ts'

/** An error response of the operator's listener. Its readers run the gateway, so it says why. */
export interface AdminError {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>>
  readonly problems?: readonly ConfigProblem[]
  /** Further members of the body (RFC 9457 §3.2). */
  readonly extensions?: Readonly<Record<string, unknown>>
  /** What a command has done all the same: its event is logged and recorded with these fields, and the error's code. */
  readonly done?: Readonly<Record<string, string | number | boolean | null>>
}

export const isAdminError = (result: object): result is AdminError => 'detail' in result

/** Renders a JSON response: causes in it may quote what Redis or an upstream wrote, and terminals print it. */
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
