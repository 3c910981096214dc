import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A request to be written byte by byte. Strings are latin1. */
export interface WireRequest {
  readonly method?: string
  /** Path and query. */
  readonly target?: string
  readonly version?: '1.0' | '1.1'
  /**
   * Flat; `Connection: close` is added unless one is among them, and Host unless the version is 1.0 or one is among
   * them.
   */
  readonly fields?: readonly string[]
  readonly body?: Buffer
  /** Sends the body chunked, each chunk of this many bytes; by length unless. */
  readonly chunkBytes?: number
  /** What follows the last chunk: trailer lines. */
  readonly trailers?: string
}

/** A head as it stood on the wire. */
export interface WireHead {
  readonly version: string
  readonly status: number
  readonly reason: string
  /** Flat, as on the wire. */
  readonly fields: readonly string[]
}

/** Everything that came back on a connection, parsed. */
export interface WireResponse extends WireHead {
  readonly interim: readonly WireHead[]
  readonly framing: 'length' | 'chunked' | 'close' | 'none'
  readonly body: Buffer
  readonly sha256: string
  /** Whether the body is whole by its own framing. */
  readonly whole: boolean
  readonly how: 'end' | 'reset'
}

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** Lists the values of a field, in order. */
export const fieldValues = (fields: readonly string[], name: string): string[] =>
  fields.filter((_, i) => i % 2 === 1 && fields[i - 1]?.toLowerCase() === name.toLowerCase())

/** Takes fields away by name. */
export const withoutFields = (fields: readonly string[], ...names: readonly string[]): string[] => {
  const lower = names.map((name) => name.toLowerCase())
  return fields.filter((_, i) => !lower.includes((fields[i - (i % 2)] as string).toLowerCase()))
}

/** Connects to a port of the loopback; errors of the connection are left to its `close`. */
export const dial = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  socket.on('error', () => {})
  return socket
}

/** Renders a request's head, framing included. */
export const renderHead = (request: WireRequest): string => {
  const { method = 'GET', target = '/market/insights', version = '1.1', fields = [], body, chunkBytes } = request
  const lines = [`${method} ${target} HTTP/${version}`]
  if (version === '1.1' && fieldValues(fields, 'host').length === 0) lines.push('Host: gateway.test')
  for (let i = 0; i < fields.length; i += 2) lines.push(`${fields[i]}: ${fields[i + 1]}`)
  if (fieldValues(fields, 'connection').length === 0) lines.push('Connection: close')
  if (chunkBytes !== undefined) lines.push('Transfer-Encoding: chunked')
  else if (body !== undefined) lines.push(`Content-Length: ${body.length}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Renders a GET of the request line and Host alone: the connection stays open after it. */
export const bareGet = (target = '/market/insights'): string => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`

/** Frames a body as chunks. */
export function* chunked(body: Buffer, chunkBytes: number, trailers = ''): Generator<Buffer> {
  for (let at = 0; at < body.length; at += chunkBytes) {
    const chunk = body.subarray(at, at + chunkBytes)
    yield Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')])
  }
  yield Buffer.from(`0\r\n${trailers}\r\n`, 'latin1')
}

/** Sends a request on a connection of its own, reads to the end of the connection, and takes apart what came back. */
export const call = async (port: number, request: WireRequest = {}): Promise<WireResponse> => {
  const socket = await dial(port)
  const response = readToEnd(socket)
  const { body, chunkBytes, trailers } = request
  socket.write(renderHead(request), 'latin1')
  if (body === undefined) return response
  if (chunkBytes === undefined) socket.write(body)
  else for (const piece of chunked(body, chunkBytes, trailers)) if (!socket.write(piece)) await awaitDrain(socket)
  return response
}

/** Waits until a socket takes more, or is gone. */
export const awaitDrain = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done)
      resolve()
    }
    if (socket.destroyed) resolve()
    else socket.once('drain', done).once('close', done)
  })

/** Reads a connection to its end and takes apart what came. Rejects when that is no response. */
export const readToEnd = (socket: Socket): Promise<WireResponse> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let how: WireResponse['how'] = 'end'
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => {
      how = 'reset'
    })
    socket.on('close', () => {
      try {
        resolve(parseWireResponse(Buffer.concat(chunks), how))
      } catch (error) {
        reject(error)
      }
    })
  })

/** Takes apart the bytes of one exchange: interim responses, the final one, its body. */
export const parseWireResponse = (bytes: Buffer, how: WireResponse['how'] = 'end'): WireResponse => {
  const interim: WireHead[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end === -1) throw new Error(`no response (${how}): ${JSON.stringify(bytes.toString('latin1', at, at + 400))}`)
    const head = parseHead(bytes.toString('latin1', at, end))
    at = end + 4
    if (head.status >= 200) return { ...head, interim, how, ...parseBody(head, bytes.subarray(at)) }
    interim.push(head)
  }
}

/** Takes a head apart. Throws when it is that of no response. */
export const parseHead = (text: string): WireHead => {
  const [first = '', ...lines] = text.split('\r\n')
  const match = /^HTTP\/(\d\.\d) (\d{3}) (.*)$/.exec(first)
  if (match === null) throw new Error(`no status line: ${JSON.stringify(first)}`)
  const fields = lines.flatMap((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  return { version: match[1] ?? '', status: Number(match[2]), reason: match[3] ?? '', fields }
}

const parseBody = (
  { status, fields }: WireHead,
  rest: Buffer,
): Omit<WireResponse, keyof WireHead | 'interim' | 'how'> => {
  const made = (framing: WireResponse['framing'], body: Buffer, whole: boolean) => ({
    framing,
    body,
    whole,
    sha256: sha256(body),
  })
  if (status === 204 || status === 304) return made('none', rest, rest.length === 0)
  if (fieldValues(fields, 'transfer-encoding').length > 0) {
    const { body, whole } = dechunk(rest)
    return made('chunked', body, whole)
  }
  const [length] = fieldValues(fields, 'content-length')
  return length === undefined ? made('close', rest, true) : made('length', rest, rest.length === Number(length))
}

const dechunk = (bytes: Buffer): { readonly body: Buffer; readonly whole: boolean } => {
  const chunks: Buffer[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n', at)
    if (end === -1) return { body: Buffer.concat(chunks), whole: false }
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    // No trailers are expected: the last chunk is the end of the connection too.
    if (size === 0) return { body: Buffer.concat(chunks), whole: bytes.toString('latin1', end) === '\r\n\r\n' }
    chunks.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}

// A test may have put others in their place.
const { setImmediate: turn, setTimeout: pause } = globalThis

/** Waits until `ready` holds: looks in the next turns of the loop, and then each millisecond. For what has no event. */
export const eventually = async (ready: () => boolean): Promise<void> => {
  for (let looks = 0; !ready(); looks++)
    await new Promise<void>((resolve) => void (looks < 20 ? turn(resolve) : pause(resolve, 1)))
}

/** Makes a body of pseudo-random bytes that differ from offset to offset: a lost or doubled piece changes the hash. */
export const pseudoRandomBytes = (bytes: number): Buffer => {
  const words = new Uint32Array(Math.ceil(bytes / 4))
  let state = 0x9e3779b9 ^ bytes
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    words[i] = state
  }
  return Buffer.from(words.buffer, 0, bytes)
}
