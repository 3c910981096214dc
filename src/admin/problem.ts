import type { FastifyReply } from 'fastify'
import { phraseOf } from '../errors.ts'

/** Describes why the operator's listener refuses. Whoever reads it runs the gateway, so it says why. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly detail: string
  /** Further header fields of the answer. */
  readonly fields?: Readonly<Record<string, string>>
  /** Further members of the body (RFC 9457 §3.2). */
  readonly more?: Readonly<Record<string, unknown>>
}

/** Tells a refusal from what was done. */
export const isRefusal = (done: object): done is Refusal => 'detail' in done

/** Answers with a problem (RFC 9457). */
export const sendProblem = (reply: FastifyReply, { status, code, detail, fields, more }: Refusal): FastifyReply =>
  reply
    .code(status)
    .headers(fields ?? {})
    .header('Content-Type', 'application/problem+json')
    .send(Buffer.from(JSON.stringify({ type: 'about:blank', title: phraseOf(status), status, code, detail, ...more }))) // of text, Fastify would name a charset
