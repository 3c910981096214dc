import type { FastifyReply } from 'fastify'
import type { Problem } from '../config/problem.ts'
import { phraseOf } from '../failures/kinds.ts'

/** Describes why the operator's listener refuses. Whoever reads it runs the gateway, so it says why. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly detail: string
  /** Further header fields of the answer. */
  readonly fields?: Readonly<Record<string, string>>
  /** What is wrong with the configuration file, when that is why. */
  readonly problems?: readonly Problem[]
  /** Further members of the body (RFC 9457 §3.2). */
  readonly more?: Readonly<Record<string, unknown>>
}

/** Tells a refusal from what was done. */
export const isRefusal = (done: object): done is Refusal => 'detail' in done

/** Answers with a problem (RFC 9457). */
export const sendProblem = (reply: FastifyReply, refusal: Refusal): FastifyReply => {
  const { status, code, detail, fields, problems, more } = refusal
  const members = { type: 'about:blank', title: phraseOf(status), status, code, detail, problems, ...more }
  return reply
    .code(status)
    .headers(fields ?? {})
    .header('Content-Type', 'application/problem+json')
    .send(Buffer.from(JSON.stringify(members))) // of text, Fastify would name a charset
}
