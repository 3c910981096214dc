import type { Responder } from './upstream.ts'

interface JsonResponse {
  readonly status?: number
  readonly type?: string
  readonly fields?: readonly string[]
}

/** Responds to each request with this body. */
export const respondJson =
  (body: string | Buffer, { status = 200, type = 'application/json', fields = [] }: JsonResponse = {}): Responder =>
  (_, response) =>
    void response.writeHead(status, ['Content-Type', type, ...fields]).end(body)
