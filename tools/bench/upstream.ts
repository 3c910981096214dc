/**
 * Serves every peer, as a process of its own, on the addresses that the command line lists. Written on bare sockets:
 * it shares the machine with what is measured, and must not be what limits it. It reads a request body fully, by length
 * or chunked, before it responds. A server for the bench only.
 */
import { createHash } from 'node:crypto'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import {
  type Echo,
  echoMark,
  largeMark,
  largeResponse,
  smallResponse,
  storableMark,
  structuredBody,
  structuredMark,
} from './payloads.ts'

const response = (body: string, cacheControl = 'no-store'): Buffer =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\nDate: ${new Date().toUTCString()}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nCache-Control: ${cacheControl}\r\n\r\n${body}`,
    'latin1',
  )

const small = response(smallResponse)
const large = response(largeResponse)
const structured = response(structuredBody)
/** The same for an hour: dated when it is asked for, or a cache would take it for old. */
const storable = (body: string): Buffer => response(body, 'max-age=3600')
const empty = Buffer.alloc(0)

const serve = (socket: Socket): void => {
  let rest: Buffer = empty
  /** Bytes of a body that are still to come, and the response that is sent after them. */
  let awaited = 0
  let after = small
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    if (awaited > chunk.length) {
      awaited -= chunk.length
      return
    }
    if (awaited > 0) {
      chunk = chunk.subarray(awaited)
      awaited = 0
      socket.write(after)
    }
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length > 0) {
      const request = parse(rest)
      if (request === null) return
      if (request.end > rest.length) {
        awaited = request.end - rest.length
        after = request.result
        rest = empty
        return
      }
      rest = rest.subarray(request.end)
      socket.write(request.result)
    }
  })
}

interface Parsed {
  /** Where the next request begins; after what has come for a body that need only be counted. */
  readonly end: number
  readonly result: Buffer
}

/** Reads one request from the start of `bytes`; null when more has to come before that is possible. */
const parse = (bytes: Buffer): Parsed | null => {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const head = bytes.toString('latin1', 0, headEnd + 2)
  const line = head.slice(0, head.indexOf('\r\n'))
  const bodyStart = headEnd + 4
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  const fixed = fixedFor(line)
  if (length !== undefined && !line.includes(echoMark)) return { end: bodyStart + Number(length), result: fixed }
  const framed =
    length !== undefined
      ? byLength(bytes, bodyStart, Number(length))
      : /\r\ntransfer-encoding: *chunked/i.test(head)
        ? chunked(bytes, bodyStart)
        : { end: bodyStart, body: empty }
  if (framed === null) return null
  return {
    end: framed.end,
    result: line.includes(echoMark) ? response(JSON.stringify(echo(line, framed.body))) : fixed,
  }
}

const fixedFor = (line: string): Buffer => {
  const isLarge = line.includes(largeMark)
  if (line.includes(storableMark)) return storable(isLarge ? largeResponse : smallResponse)
  if (line.includes(structuredMark)) return structured
  return isLarge ? large : small
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

listen(process.argv.slice(2), 0)
