/** Attack: a lying Redis. Requests get the upstream's responses, and nothing that Redis says reaches a client. */
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { findScript, renewScript, storeScript } from '../../../../src/features/cache/redis/redis-entry.ts'
import { rawUpstream } from '../../../helpers/upstream.ts'
import { createResponse } from '../helper.ts'
import { openSharedGateway } from '../redis/shared-gateway.ts'

type Lies = (socket: Socket) => void

const say =
  (response: string): Lies =>
  (socket) =>
    void socket.write(response, 'latin1')

const text = (value: string): string => `$${value.length}\r\n${value}\r\n`
const list = (...items: readonly string[]): string => `*${items.length}\r\n${items.join('')}`
const generation = text('a'.repeat(32))
const mebibyte = 1024 ** 2

const flood =
  (announced: number, sent: number): Lies =>
  (socket) => {
    const piece = Buffer.alloc(mebibyte, 'x')
    socket.write(
      `*8\r\n${text('1795322277448')}${generation.repeat(3)}$-1\r\n${text('1')}${text('{}')}$${announced}\r\n`,
    )
    let left = sent
    const more = (): void => {
      while (left > 0 && !socket.destroyed) {
        left -= piece.length
        if (!socket.write(piece)) return void socket.once('drain', more)
      }
    }
    more()
  }

const rows: readonly (readonly [what: string, lies: Lies])[] = [
  ['what is no protocol', say('\0\x01\x02\xff\r\n')],
  ['an error', say('-ERR no\r\n')],
  ['nothing', () => {}],
  ['no value', say('$-1\r\n')],
  ['a number', say(':5\r\n')],
  ['an empty list', say('*0\r\n')],
  ['a list of numbers', say(list(':1\r\n', ':2\r\n', ':3\r\n', ':4\r\n'))],
  ['lists in a list', say(list(list(':1\r\n'), list(), list(), list()))],
  ['no time', say(list('$-1\r\n', generation, generation, generation))],
  ['generations that are none', say(list(text('1'), text('x'), text('y'), text('z')))],
  ['half a reply', say('*8\r\n$1\r\n')],
  ['the end of the connection', (socket) => socket.destroy()],
  [
    'a record that is none',
    say(list(text('9'), generation, generation, generation, '$-1\r\n', text('1'), text('{"a":1}'), text('evil'))),
  ],
  ['names without an end', say(list(text('9'), generation, generation, generation, text(','.repeat(1_000_000))))],
  ['itself again and again', say(list(text('9'), generation, generation, generation, text('accept')))],
  ['10 MiB', flood(10 * mebibyte, 10 * mebibyte)],
  ['a beginning without an end', flood(0x7fffffff, 8 * mebibyte)],
]

test.each(rows)('a Redis that replies with %s changes no response', async (_, lies) => {
  const redis = await rawUpstream((socket) => {
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      const received = chunk.toString('latin1')
      const isUsed = [findScript, storeScript, renewScript].some(({ sha }) => received.includes(sha))
      if (received.includes('SCRIPT')) socket.write(text('a'.repeat(40)))
      else if (isUsed) lies(socket)
      else socket.write(text('1')) // what it is tried with
    })
  })
  const gateway = await openSharedGateway({ url: `redis://127.0.0.1:${redis.port}`, timeout: 20 })

  const got = []
  for (let n = 1; n <= 4; n++) {
    const { status, text } = await gateway.ask(
      { query: `?n=${n}` },
      createResponse(['Cache-Control', 'max-age=60'], `${n}`),
    )
    got.push([status, text])
  }

  expect(got).toEqual([1, 2, 3, 4].map((n) => [200, `${n}`]))
  expect(gateway.logged).not.toContain('cache failed')
})
