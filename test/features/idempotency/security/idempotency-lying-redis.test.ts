/**
 * Attack: a Redis that lies about idempotency keys. Only a granted claim forwards a request, and nothing that Redis
 * says reaches a client.
 */
import { afterEach, expect, test } from 'vitest'
import { claimKeyScript, settleKeyScript } from '../../../../src/features/idempotency/store/idempotency-scripts.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { httpUpstream, rawUpstream } from '../../../helpers/upstream.ts'
import { once, post } from '../wire/keyed-post.ts'

const text = (value: string): string => `$${value.length}\r\n${value}\r\n`
const list = (...items: readonly string[]): string => `*${items.length}\r\n${items.join('')}`
const made = list(text('d'), text('r'), text(''), text('t'), text('evil'.repeat(20)))

// What else a store may be told is in `redis-idempotency-store.test.ts`.
const rows: readonly (readonly [what: string, reply: string, told: string])[] = [
  ['what is no protocol', '\0\x01\x02\xff\r\n', '503 idempotency-unavailable'],
  ['an error', '-ERR no\r\n', '503 idempotency-unavailable'],
  ['nothing', '', '503 idempotency-unavailable'],
  ['half a reply', '*5\r\n$1\r\n', '503 idempotency-unavailable'],
  ['a response that it made up', made, '409 outcome-unknown'],
]

// Only what never comes whole is given up by the time-out. Elsewhere a busy machine may be late.
const unfinished: readonly string[] = ['', '*5\r\n$1\r\n']

const sockets = new Set<{ destroy(): void }>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
})

test.each(rows)('a Redis that replies to a claim with %s has nothing forwarded', async (_, reply, told) => {
  const takenBack = Promise.withResolvers<void>()
  const redis = await rawUpstream((socket) => {
    let hasLied = false
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      const received = chunk.toString('latin1')
      if (received.includes('SCRIPT')) socket.write(text('a'.repeat(40)))
      else if (received.includes(claimKeyScript.sha)) {
        hasLied = true
        socket.write(reply, 'latin1')
      } else if (received.includes(settleKeyScript.sha)) {
        // A claim that it may have written is taken back, by a connection whose replies are in order.
        if (hasLied) return void socket.destroy()
        socket.write(':1\r\n')
        takenBack.resolve()
      } else socket.write(text('1')) // what it is tried with
    })
  })
  const upstream = await httpUpstream()
  const timeout = unfinished.includes(reply) ? '20ms' : '1s'
  const { port, line } = await bootGateway({
    ...{ upstream: upstream.url, ...once },
    idempotency: {
      redis: { url: `redis://127.0.0.1:${redis.port}`, timeout },
      encryptionKeys: [Buffer.alloc(32, 1).toString('base64')],
    },
  })
  await line(({ msg }) => msg === 'idempotency store is available')

  const got = await post(port, 'k')

  if (told.startsWith('503')) await takenBack.promise

  expect(got).toBe(told)
  expect(got).not.toContain('evil')
  expect(upstream.requests).toHaveLength(0)
})
