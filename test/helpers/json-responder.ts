import type { Responder } from './upstream.ts'

interface JsonAnswer {
  readonly status?: number
  readonly type?: string
  readonly fields?: readonly string[]
}

/** Answers each request with this body. */
export const answerJson =
  (body: string | Buffer, { status = 200, type = 'application/json', fields = [] }: JsonAnswer = {}): Responder =>
  (_, response) =>
    void response.writeHead(status, ['Content-Type', type, ...fields]).end(body)
