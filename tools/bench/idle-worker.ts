/**
 * Holds keep-alive connections that do nothing after one request each, as a process of its own. Says `ready` when every
 * one has its response; when its stdin ends, says how many are still open, and ends.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

const [port, request = '', count] = process.argv.slice(2)
const open = new Set<Socket>()

const add = async (): Promise<void> => {
  const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true })
  socket.on('error', () => socket.destroy())
  socket.once('connect', () => open.add(socket))
  socket.once('close', () => open.delete(socket))
  socket.write(request)
  // A small response comes in one piece or two; what else comes is read and dropped.
  await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => {})
  socket.resume()
}

/** At once, so that a listening queue holds them all. */
const batch = 50

for (let made = 0; made < Number(count); made += batch)
  await Promise.all(Array.from({ length: Math.min(batch, Number(count) - made) }, add))
console.log('ready')

process.stdin.resume()
process.stdin.once('end', () => {
  console.log(open.size)
  process.exit(0)
})
