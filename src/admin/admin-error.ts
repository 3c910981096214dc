import type { FastifyReply } from 'fastify'
import type { ConfigProblem } from '../config/problem.ts'
import { reasonPhrase } from '../failures/kinds.ts'

/** Describes why the operator's listener refuses. Whoever reads it runs the gateway, so it says why. */
export interface AdminError {
  readonly status: number
  readonly code: string
  readonly detail: string
  /** Further header fields of the answer. */
  readonly headers?: Readonly<Record<string, string>>
  /** What is wrong with the configuration file, when that is why. */
  readonly problems?: readonly ConfigProblem[]
  /** Further members of the body (RFC 9457 §3.2). */
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** Tells a refusal from what was done. */
export const isAdminError = (result: object): result is AdminError => 'detail' in result

/** Answers with a problem (RFC 9457). */
export const sendProblem = (reply: FastifyReply, error: AdminError): FastifyReply => {
  const { status, code, detail, headers, problems, extensions } = error
  const members = { type: 'about:blank', title: reasonPhrase(status), status, code, detail, problems, ...extensions }
  return reply
    .code(status)
    .headers(headers ?? {})
    .header('Content-Type', 'application/problem+json')
    .send(Buffer.from(JSON.stringify(members))) // of text, Fastify would name a charset
}
