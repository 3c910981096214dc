/**
 * Attack: a Redis that lies about idempotency keys. Nothing that it says but a claim that was granted has a request
 * forwarded, and nothing of what it says reaches a client.
 */
import { afterEach, expect, test } from 'vitest'
import { claimKeyScript } from '../../../../src/features/idempotency/store/idempotency-scripts.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream, rawUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

const text = (value: string): string => `$${value.length}\r\n${value}\r\n`
const list = (...items: readonly string[]): string => `*${items.length}\r\n${items.join('')}`
const nothing = '$-1\r\n'
const first = [text('r'), text('f'), text('t')] as const

const rows: readonly (readonly [what: string, reply: string, status: number])[] = [
  ['what is no protocol', '\0\x01\x02\xff\r\n', 503],
  ['an error', '-ERR no\r\n', 503],
  ['nothing', '', 503],
  ['no value', nothing, 503],
  ['a number', ':1\r\n', 503],
  ['a text', text('c'), 503],
  ['an empty list', '*0\r\n', 503],
  ['a state that is none', list(text('x')), 503],
  ['the number of a state', list(':1\r\n'), 503],
  ['a list of numbers', list(':1\r\n', ':2\r\n', ':3\r\n', ':4\r\n', ':5\r\n'), 503],
  ['lists in a list', list(list(text('c')), list(), list()), 503],
  ['a record without an id', list(text('d'), nothing, text('f'), text('t'), text('evil')), 503],
  ['a record of a state that is none', list(text('e'), ...first, text('evil')), 503],
  ['a response that is a number', list(text('d'), ...first, ':1\r\n'), 503],
  ['half a reply', '*5\r\n$1\r\n', 503],
  ['a response that it made up', list(text('d'), text('r'), text(''), text('t'), text('evil'.repeat(20))), 409],
  ['a short response', list(text('d'), text('r'), text(''), text('t'), text('evil')), 409],
  ['an empty response', list(text('d'), text('r'), text(''), text('t'), text('')), 409],
  ['that it is done, without a response', list(text('d'), text('r'), text(''), text('t'), nothing), 409],
]

// Only what never comes whole is given up by the time-out. Elsewhere a busy machine may be late.
const unfinished: readonly string[] = ['', '*5\r\n$1\r\n']

const sockets = new Set<{ destroy(): void }>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
})

test.each(rows)('a Redis that replies to a claim with %s has nothing forwarded', async (_, reply, status) => {
  const redis = await rawUpstream((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      const received = chunk.toString('latin1')
      if (received.includes('SCRIPT')) socket.write(text('a'.repeat(40)))
      else if (received.includes(claimKeyScript.sha)) socket.write(reply, 'latin1')
      else socket.write(text('1')) // what it is tried with
    })
  })
  const upstream = await httpUpstream((_request, response) => response.end('done'))
  const live = await bootLiveGateway({
    upstream: upstream.url,
    operations: { 'financing.pre-approval': { idempotency: true } },
    idempotency: {
      redis: { url: `redis://127.0.0.1:${redis.port}`, timeout: unfinished.includes(reply) ? '20ms' : '1s' },
      encryptionKeys: [Buffer.alloc(32, 1).toString('base64')],
    },
  })
  await live.line(({ msg }) => msg === 'idempotency store is available')

  const response = await call(Number(new URL(live.url).port), {
    method: 'POST',
    target: '/financing/pre-approval',
    fields: ['Idempotency-Key', 'k'],
    body: Buffer.from('abc'),
  })

  expect(response.status).toBe(status)
  expect(response.body.toString()).not.toContain('evil')
  expect(upstream.requests).toHaveLength(0)
})
