import { expect, vi } from 'vitest'
import type { LiveGateway } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'

export const operations = { 'valuation.score': { idempotency: true } }

export const post = async ({ gateway }: LiveGateway, key: string) => {
  const { status, fields, body } = await call(gateway.address.port, {
    method: 'POST',
    target: '/valuation/score',
    fields: ['Idempotency-Key', key],
    body: Buffer.from('abc'),
  })
  const isReplayed = fieldValues(fields, 'idempotency-replayed').length > 0
  return `${status} ${status >= 400 ? JSON.parse(body.toString()).code : body}${isReplayed ? ' replayed' : ''}`
}

/** Sends a request whose client leaves once the upstream has it. */
export const abandon = async ({ gateway }: LiveGateway, key: string, isThere: () => boolean): Promise<void> => {
  const client = await rawClient(gateway.address.port)
  client.send(`POST /valuation/score HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${key}\r\nContent-Length: 3\r\n\r\nabc`)
  await vi.waitFor(() => expect(isThere()).toBe(true), 30_000)
  client.close()
}

/** Opens an upstream that answers when it is told to. */
export const openHeldUpstream = async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const upstream = await httpUpstream((_, response) => void released.then(() => response.end('done')))
  return { upstream, release }
}

export const left = (live: LiveGateway) =>
  live.line(({ msg, failure }) => msg === 'exchange' && failure === 'client-gone')
