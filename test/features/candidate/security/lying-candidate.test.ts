import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { onRequest, openRawUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'
import { sha256, shadowStage } from './shadow-stage.ts'

// The attack: a candidate, or what an attacker has made of it, responds to copies so that the gateway or its clients
// suffer.

const mebibyte = 1024 ** 2
const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`
const responseOf = (body: Buffer, more = ''): Buffer =>
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
  'a chunk extension without end': (socket) => pour(socket, `${chunked}1;a=`, 'a'.repeat(65_536)),
  'trailers without end': (socket) => pour(socket, `${chunked}1\r\na\r\n0\r\n`, 'X-A: a\r\n'.repeat(8_000)),
  'a switch of protocols': (socket) => pour(socket, 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 'a'.repeat(65_536)),
  'a reset in the middle of its body': (socket) => {
    socket.write(`${head}Content-Length: 100\r\n\r\nabc`, () => socket.resetAndDestroy())
  },
}

const bomb = gzipSync(Buffer.alloc(16 * mebibyte))

const responses: Readonly<Record<string, Buffer>> = {
  'a bomb of gzip': responseOf(bomb, 'Content-Encoding: gzip\r\n'),
  'a bomb in a bomb': responseOf(gzipSync(bomb), 'Content-Encoding: gzip, gzip\r\n'),
  'names that mean something to JavaScript': responseOf(Buffer.from('{"__proto__":{"a":1},"constructor":{"b":2}}')),
  'bytes that are no text': responseOf(Buffer.from([0x22, 0xff, 0xfe, 0x22])),
  'another response behind its own': Buffer.concat([responseOf(Buffer.from('{}')), responseOf(Buffer.from('{"b":2}'))]),
}

/** The connections on which the candidate has misbehaved. */
const misused: Socket[] = []

const stage = shadowStage(
  () =>
    openRawUpstream((socket) =>
      onRequest(socket, (request) => {
        const way = decodeURIComponent(/\?(\S*)/.exec(request)?.[1] ?? '')
        const fail = waysToFail[way]
        if (fail === undefined) return void socket.write(responses[way] ?? responseOf(Buffer.from('{}')))
        misused.push(socket)
        fail(socket)
      }),
    ),
  { timeout: '10m' },
)

/** Has the candidate respond in this way, and then soundly; clients of the primary notice nothing. */
const askTwice = (way: string) =>
  stage.copies('market', 2, async () => {
    for (const query of [encodeURIComponent(way), 'sound']) {
      const { status, body } = await call(stage.port(), { target: `/market/insights?${query}` })
      expect([status, body.toString()]).toEqual([200, `/market/insights?${query} ${sha256('')}`])
    }
  })

test.each(Object.keys(waysToFail))(
  'a candidate that sends %s has failed, on a connection that is closed',
  async (way) => {
    const before = misused.length

    expect(await askTwice(way)).toEqual({ failed: 1, '2xx': 1 })

    const [socket, ...others] = misused.slice(before)
    expect(others).toEqual([])
    await expect.poll(() => socket?.closed).toBe(true)
    // What the system buffers, but no more.
    expect(socket?.bytesWritten).toBeLessThan(16 * mebibyte)
  },
)

test.each(Object.keys(responses))('%s of a candidate is compared or not, and harms nothing', async (way) => {
  expect(await askTwice(way)).toEqual({ '2xx': 2 })

  expect(Object.hasOwn(Object.prototype, 'a')).toBe(false)
})
