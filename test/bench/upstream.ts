/**
 * Answers every peer, as a process of its own. Written on bare sockets: it shares the machine with what is measured, and must not
 * be what limits it. It reads a request body fully, by length or chunked, before it answers. No server for anything but the bench.
 */
import { createHash } from 'node:crypto'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { addresses, type Echo, echoMark, fixedAnswer } from './workload.ts'

const answer = (body: string): Buffer =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\nDate: ${new Date().toUTCString()}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\n\r\n${body}`,
    'latin1',
  )

const fixed = answer(fixedAnswer)
const empty = Buffer.alloc(0)

const serve = (socket: Socket): void => {
  let rest: Buffer = empty
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      const request = parse(rest)
      if (request === null) return
      rest = rest.subarray(request.end)
      socket.write(request.echo === null ? fixed : answer(JSON.stringify(request.echo)))
    }
  })
}

interface Parsed {
  /** Where the next request begins. */
  readonly end: number
  readonly echo: Echo | null
}

/** Reads one whole request from the start of `bytes`; null when more has to come. */
const parse = (bytes: Buffer): Parsed | null => {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const head = bytes.toString('latin1', 0, headEnd + 2)
  const bodyStart = headEnd + 4
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  const framed =
    length !== undefined
      ? byLength(bytes, bodyStart, Number(length))
      : /\r\ntransfer-encoding: *chunked/i.test(head)
        ? chunked(bytes, bodyStart)
        : { end: bodyStart, body: empty }
  if (framed === null) return null
  const line = head.slice(0, head.indexOf('\r\n'))
  return { end: framed.end, echo: line.includes(echoMark) ? echo(line, framed.body) : null }
}

interface Framed {
  readonly end: number
  readonly body: Buffer
}

const byLength = (bytes: Buffer, start: number, length: number): Framed | null => {
  const end = start + length
  return bytes.length < end ? null : { end, body: bytes.subarray(start, end) }
}

const chunked = (bytes: Buffer, start: number): Framed | null => {
  const parts: Buffer[] = []
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return null
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const next = lineEnd + 2 + size + 2
    if (bytes.length < next) return null
    if (size === 0) return { end: next, body: Buffer.concat(parts) }
    parts.push(bytes.subarray(lineEnd + 2, next - 2))
    at = next
  }
}

const echo = (line: string, body: Buffer): Echo => {
  const [method = '', target = ''] = line.split(' ')
  return { method, target, bodyBytes: body.length, sha256: createHash('sha256').update(body).digest('hex') }
}

/** Listens on the other addresses on the port that the first was given. */
const listen = ([host, ...others]: readonly string[], port: number): void => {
  const server = createServer(serve)
  server.listen({ port, host, backlog: 1024 }, () => {
    const given = (server.address() as AddressInfo).port
    if (others.length > 0) listen(others, given)
    else console.log(given)
  })
}

listen(addresses, 0)
