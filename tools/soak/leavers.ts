/**
 * Clients that leave, or are slow: no client waits for these responses, and the gateway must let go of what it held for
 * them.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { allOperations } from '../../src/operations.ts'
import { largeBytes } from './large-responses.ts'
import { slowReader, slowWriter } from './slow-clients.ts'
import { type Ongoing, ongoing } from './traffic.ts'

const large = `GET /market/insights?bytes=${largeBytes} HTTP/1.1\r\nHost: gateway\r\n\r\n`
const uploadTo = (path: string, framing: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: gateway\r\n${framing}\r\n\r\n`

type Way = (socket: Socket, nth: number) => Promise<void>

/** Leaves at once, or a moment later: before the response, or while it comes. */
const beforeTheResponse: Way = async (socket, nth) => {
  const { method, path } = allOperations[nth % allOperations.length] as (typeof allOperations)[number]
  socket.write(
    method === 'GET' ? `GET ${path} HTTP/1.1\r\nHost: gateway\r\n\r\n` : `${uploadTo(path, 'Content-Length: 3')}abc`,
  )
  await pause(nth % 4)
}

const inALargeResponse: Way = async (socket) => {
  socket.write(large)
  await happens(socket, 'data')
}

const inALargeResponseUnread: Way = async (socket) => {
  socket.pause()
  socket.write(large)
  await pause(100)
}

const inAnUpload: Way = async (socket, nth) => {
  const { path } = allOperations.filter(({ method }) => method === 'POST')[nth % 5] as { readonly path: string }
  const [framing, begun] = (
    [
      ['Content-Length: 1000', 'x'.repeat(500)],
      ['Content-Length: 1000000', 'x'.repeat(300_000)],
      ['Transfer-Encoding: chunked', `5000\r\n${'x'.repeat(0x5000)}\r\n5000\r\nxx`],
    ] as const
  )[nth % 3] as readonly [string, string]
  socket.write(`${uploadTo(path, framing)}${begun}`)
  await pause(nth % 20)
}

const ways = [beforeTheResponse, inALargeResponse, inALargeResponseUnread, inAnUpload]

/** Leaves in every way, again and again: half of them by a reset. */
export const leaving = (port: number): Ongoing => {
  let n = 0
  return ongoing(ways.length, 150, async (way) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('error', () => {})
    await happens(socket, 'connect')
    const nth = n++
    await ways[way]?.(socket, nth)
    if ((nth >> 2) % 2 === 0) socket.destroy()
    else socket.resetAndDestroy()
  })
}

const slowEach = 8
const slowForMs = 8000

/** Reads, or sends, slowly for a while, and leaves. */
export const slow = (port: number): Ongoing =>
  ongoing(2 * slowEach, 100, async (nth) => {
    const upload = uploadTo('/valuation/forecast', `Content-Length: ${nth % 4 === 1 ? 60_000 : 1_000_000}`)
    const socket = nth % 2 === 0 ? slowReader(port, large) : slowWriter(port, upload)
    await pause(slowForMs)
    socket.destroy()
  })

/** Waits until something happens to a socket, or it is closed. */
const happens = (socket: Socket, event: string): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) return resolve()
    socket.once(event, () => resolve())
    socket.once('close', () => resolve())
  })
