import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'
import { settledCopies, sha256, stageShadow } from './shadow-stage.ts'

// The attack: a candidate, or what an attacker has made of it, answers copies so that the gateway or its clients
// suffer.

const mebibyte = 1024 ** 2
const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const answerOf = (body: Buffer, more = ''): Buffer =>
  Buffer.concat([Buffer.from(`${head}${more}Content-Length: ${body.length}\r\n\r\n`), body])

/** Writes a piece again and again, as fast as it is taken. */
const pour = (socket: Socket, first: string, piece: string | Buffer): void => {
  socket.write(first)
  const more = (): void => {
    while (socket.writable && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}

const waysToFail: Readonly<Record<string, (socket: Socket) => void>> = {
  'a field without end': (socket) => pour(socket, `${head}X-A: `, 'a'.repeat(65_536)),
  'fields without end': (socket) => pour(socket, head, 'X-A: a\r\n'.repeat(8_000)),
  'a status line without end': (socket) => pour(socket, 'HTTP/1.1 200 ', 'a'.repeat(65_536)),
  '100s without end': (socket) => pour(socket, '', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2_000)),
  '103s without end': (socket) => pour(socket, '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(2_000)),
  '199s without end': (socket) => pour(socket, '', 'HTTP/1.1 199 Other\r\n\r\n'.repeat(2_000)),
  'a chunk extension without end': (socket) =>
    pour(socket, `${head}Transfer-Encoding: chunked\r\n\r\n1;a=`, 'a'.repeat(65_536)),
  'trailers without end': (socket) =>
    pour(socket, `${head}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n`, 'X-A: a\r\n'.repeat(8_000)),
  'a switch of protocols': (socket) => pour(socket, 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 'a'.repeat(65_536)),
  'a reset in the middle of its body': (socket) => {
    socket.write(`${head}Content-Length: 100\r\n\r\nabc`, () => socket.resetAndDestroy())
  },
}

test.each(Object.entries(waysToFail))(
  'a candidate that sends %s has failed, on a connection that is closed',
  async (_, behave) => {
    const sockets: Socket[] = []
    const candidate = await rawUpstream((socket) => {
      sockets.push(socket)
      onRequest(socket, () => behave(socket))
    })
    const stage = await stageShadow(candidate.url, { concurrency: 4, timeout: '10m' })

    for (let nth = 0; nth < 4; nth++) {
      const { status, body } = await call(stage.port, { target: `/market/insights?n=${nth}` })
      expect([status, body.toString()]).toEqual([200, `/market/insights?n=${nth} ${sha256('')}`])
    }
    const { outcomes, dropped } = await settledCopies(stage, 'market', 4)
    await expect.poll(candidate.connections, { timeout: 30_000 }).toBe(0)

    expect([outcomes.failed, dropped.full]).toEqual([4, 0])
    // What the system buffers, but no more.
    for (const { bytesWritten } of sockets) expect(bytesWritten).toBeLessThan(16 * mebibyte)
  },
)

const bomb = gzipSync(Buffer.alloc(64 * mebibyte))
const deep = Buffer.from('['.repeat(30_000) + ']'.repeat(30_000))

test.each([
  ['a bomb of gzip', answerOf(bomb, 'Content-Encoding: gzip\r\n')],
  ['a bomb in a bomb', answerOf(gzipSync(bomb), 'Content-Encoding: gzip, gzip\r\n')],
  ['what is no gzip', answerOf(Buffer.from('abc'), 'Content-Encoding: gzip\r\n')],
  ['lists in lists in lists', answerOf(deep)],
  ['names that mean something to JavaScript', answerOf(Buffer.from('{"__proto__":{"a":1},"constructor":{"b":2}}'))],
  ['10,000 members', answerOf(Buffer.from(JSON.stringify(Object.fromEntries([...Array(10_000).keys()].entries()))))],
  ['bytes that are no text', answerOf(Buffer.from([0x22, 0xff, 0xfe, 0x22]))],
  ['another response behind its own', Buffer.concat([answerOf(Buffer.from('{}')), answerOf(Buffer.from('{"b":2}'))])],
])('%s of a candidate is compared or not, and harms nothing', async (_, bytes) => {
  const candidate = await rawUpstream((socket) => onRequest(socket, () => void socket.write(bytes)))
  const stage = await stageShadow(candidate.url, { compare: {} })

  for (let nth = 0; nth < 4; nth++)
    expect((await call(stage.port, { target: `/market/insights?n=${nth}` })).body.toString()).toContain(`n=${nth} `)
  const { outcomes } = await settledCopies(stage, 'market', 4)

  expect(outcomes['2xx']).toBe(4)
  expect(Object.hasOwn(Object.prototype, 'a')).toBe(false)
  expect((await call(stage.port, { target: '/market/insights' })).status).toBe(200)
})
