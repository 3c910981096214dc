/** An upstream that is as slow, or as large, as the target of a request says. */
import type { Socket } from 'node:net'
import { openRawUpstream, type RawUpstream } from '../../test/helpers/upstream.ts'
import { pour } from './pour.ts'

/** Opens it. */
export const openSlowUpstream = (): Promise<RawUpstream> =>
  openRawUpstream((socket) => {
    socket.once('end', () => socket.end())
    socket.once('data', (first: Buffer) => serve(socket, first.toString('latin1')))
  })

const serve = (socket: Socket, head: string): void => {
  const bytes = Number(/[?&]response=(\d+)/.exec(head)?.[1] ?? 0)
  if (/[?&]takes=slowly/.test(head)) return takeSlowly(socket)
  socket.on('data', () => {}) // what is uploaded
  if (bytes === 0) return
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`)
  if (/[?&]gives=slowly/.test(head)) every250Ms(socket, () => socket.write(Buffer.alloc(1024, 'x')))
  else pour(socket, bytes)
}

/** Reads four pieces a second, each of 64 KiB at most. */
const takeSlowly = (socket: Socket): void => {
  every250Ms(socket, () => socket.resume())
  socket.on('data', () => socket.pause())
  socket.pause()
}

const every250Ms = (socket: Socket, act: () => void): void => {
  const timer = setInterval(act, 250)
  socket.on('close', () => clearInterval(timer))
}
