import type { FastifyReply } from 'fastify'
import type { ConfigProblem } from '../config/problem.ts'
import { reasonPhrase } from '../exchange/failures/failure-table.ts'
import { escapeQuotedControls } from '../lib/text/escape-controls.ts'

/** Its readers are operators, so `detail` says the cause. */
export interface AdminError {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>>
  readonly problems?: readonly ConfigProblem[]
  readonly extensions?: Readonly<Record<string, unknown>>
  /** Effects of a command that failed in part: logged and recorded with the error's code. */
  readonly done?: Readonly<Record<string, string | number | boolean | null>>
}

export const isAdminError = (result: object): result is AdminError => 'detail' in result

/** Escapes control characters: causes quote Redis or an upstream, and terminals print them. */
export const renderAdminJson = (value: unknown): string => escapeQuotedControls(JSON.stringify(value))

export const sendProblem = (reply: FastifyReply, error: AdminError): FastifyReply => {
  const { status, code, detail, headers, problems, extensions } = error
  const members = { type: 'about:blank', title: reasonPhrase(status), status, code, detail, problems, ...extensions }
  return reply
    .code(status)
    .headers(headers ?? {})
    .header('Content-Type', 'application/problem+json')
    .send(Buffer.from(renderAdminJson(members))) // for a string, Fastify would add a charset
}
