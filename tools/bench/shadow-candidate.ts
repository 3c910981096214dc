/**
 * Serves copies in one of several ways, as a process of its own: `node tools/bench/shadow-candidate.ts WAY`. Prints
 * its port. A server for the bench and for drills only.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { smallResponse } from './payloads.ts'

const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const respondWith = (body: string): string => `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
const sound = respondWith(smallResponse)
// The members in another order, and one number that differs: a comparison reads all of it.
const differing = respondWith(
  JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(smallResponse)).toReversed())).replace('98', '97'),
)
const piece = Buffer.alloc(64 * 1024, 'x')

const drip = (socket: Socket): void => {
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`)
  const timer = setInterval(() => socket.write('1\r\n \r\n'), 200)
  socket.once('close', () => clearInterval(timer))
}

const pour = (socket: Socket): void => {
  socket.write(`${head}Content-Length: 1000000000000\r\n\r\n`)
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', more)
  more()
}

/** What is done for each request, by the name of the way. */
export const candidateWays: Readonly<Record<string, (socket: Socket) => void>> = {
  responds: (socket) => void socket.write(sound),
  differs: (socket) => void socket.write(differing),
  hangs: () => {},
  drips: drip,
  lies: (socket) => void socket.end(`${head}Content-Length: 1000\r\n\r\n{"a":`),
  resets: (socket) => void socket.resetAndDestroy(),
  pours: pour,
}

/** Opens a candidate that does the same for each request. */
export const openShadowCandidate = (way: string): Promise<{ readonly port: number; close(): void }> => {
  const behave = candidateWays[way] ?? (() => {})
  const open = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    open.add(socket)
    let rest = ''
    socket.on('error', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
    socket.on('data', (chunk) => {
      rest += chunk.toString('latin1')
      for (let end = rest.indexOf('\r\n\r\n'); end >= 0; end = rest.indexOf('\r\n\r\n')) {
        rest = rest.slice(end + 4)
        behave(socket)
      }
    })
  })
  const close = (): void => {
    server.close()
    for (const socket of open) socket.destroy()
  }
  return new Promise((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () =>
      resolve({ port: (server.address() as AddressInfo).port, close }),
    )
  })
}

if (process.argv[1] === import.meta.filename) {
  const { port } = await openShadowCandidate(process.argv[2] ?? '')
  console.log(port)
}
