/** Clients that take or send little at a time. */
import { connect, type Socket } from 'node:net'
import { pour } from './pour.ts'

const everyMs = 1000
const bytesATime = 4096

/** Asks for something, and reads 4 KiB of it a second: never more than the system holds for it besides. */
export const slowReader = (port: number, request: string): Socket => {
  const socket = connect({
    port,
    host: '127.0.0.1',
    onread: { buffer: Buffer.alloc(bytesATime), callback: () => false },
  })
  const timer = setInterval(() => socket.resume(), everyMs)
  socket.on('error', () => {})
  socket.on('close', () => clearInterval(timer))
  socket.write(request)
  return socket
}

/** Begins an upload of which 4 KiB come a second. */
export const slowWriter = (port: number, head: string): Socket => {
  const socket = connect({ port, host: '127.0.0.1' })
  const timer = setInterval(() => socket.write(Buffer.alloc(bytesATime, 'w')), everyMs)
  socket.on('error', () => {})
  socket.on('close', () => clearInterval(timer))
  socket.write(head)
  return socket.resume()
}

/** Uploads as fast as it is let. */
export const fastWriter = (port: number, head: string, bytes: number): Socket => {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  socket.write(head)
  pour(socket, bytes)
  return socket.resume()
}
