/** Requests with a key of idempotency, as clients send them. */
import { expect, vi } from 'vitest'
import type { LiveGateway } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues, type WireRequest, type WireResponse } from '../../../helpers/wire.ts'

/** Settings under which the operation that `post` asks for has idempotency. */
export const once = { operations: { 'valuation.score': { idempotency: true } } }

/** Sends a POST with a key (null: without one), and returns the response. */
export const send = (port: number, key: string | null, more: WireRequest = {}): Promise<WireResponse> =>
  call(port, {
    ...{ method: 'POST', target: '/valuation/score', body: Buffer.from('abc') },
    ...more,
    fields: [...(key === null ? [] : ['Idempotency-Key', key]), ...(more.fields ?? [])],
  })

/** Says of a response its status, its code or its body, and whether it was replayed: `201 done replayed`. */
export const told = ({ status, fields, body }: WireResponse): string => {
  const text = body.toString()
  const isProblem = fieldValues(fields, 'content-type').includes('application/problem+json')
  const replayed = fieldValues(fields, 'idempotency-replayed').length > 0 ? ' replayed' : ''
  return `${status} ${isProblem ? JSON.parse(text).code : text}${replayed}`
}

/** Sends a POST with a key (null: without one), and says what came of it. */
export const post = async (...request: Parameters<typeof send>): Promise<string> => told(await send(...request))

/** The head of such a POST, for a client that writes it byte by byte. */
export const headOf = (key: string, length: number): string =>
  `POST /valuation/score HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${key}\r\nContent-Length: ${length}\r\n\r\n`

/** Sends a request whose client leaves once the upstream has it. */
export const abandon = async (port: number, key: string, isThere: () => boolean): Promise<void> => {
  const client = await rawClient(port)
  client.send(`${headOf(key, 3)}abc`)
  await vi.waitFor(() => expect(isThere()).toBe(true), 30_000)
  client.close()
}

/** Opens an upstream that responds when it is told to. */
export const openHeldUpstream = async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const upstream = await httpUpstream((_, response) => void released.then(() => response.end('done')))
  return { upstream, release }
}

export const left = (live: LiveGateway) =>
  live.line(({ msg, failure }) => msg === 'exchange' && failure === 'client-gone')
