/** An upstream that is as slow, or as large, as the target of a request says. */

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

const piece = Buffer.alloc(64 * 1024, 'x')

/** Opens it and returns its port. */
export const openSlowUpstream = async (): Promise<{ readonly port: number; close(): void }> => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', (first: Buffer) => serve(socket, first.toString('latin1')))
  }).listen({ port: 0, host: '127.0.0.1', backlog: 1024 })
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

const serve = (socket: Socket, head: string): void => {
  const bytes = Number(/[?&]answer=(\d+)/.exec(head)?.[1] ?? 0)
  if (/[?&]takes=slowly/.test(head)) return takeSlowly(socket)
  socket.on('data', () => {}) // what is uploaded
  if (bytes === 0) return
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`)
  if (/[?&]gives=slowly/.test(head)) giveSlowly(socket)
  else give(socket, bytes)
}

/** Writes as much as is taken. */
const give = (socket: Socket, bytes: number): void => {
  let left = bytes
  const write = (): void => {
    while (left > 0) {
      const next = left < piece.length ? piece.subarray(0, left) : piece
      left -= next.length
      if (!socket.write(next)) return void socket.once('drain', write)
    }
  }
  write()
}

const giveSlowly = (socket: Socket): void => {
  const timer = setInterval(() => socket.write(piece.subarray(0, 1024)), 250)
  socket.on('close', () => clearInterval(timer))
}

/** Reads four pieces a second, each of 64 KiB at most. */
const takeSlowly = (socket: Socket): void => {
  const timer = setInterval(() => socket.resume(), 250)
  socket.on('data', () => socket.pause())
  socket.on('close', () => clearInterval(timer))
  socket.pause()
}
