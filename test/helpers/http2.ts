import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { needCertificates, type Pair } from './certificates.ts'
import { bootGateway, type Settings, type TestGateway } from './gateway.ts'
import { sha256 } from './wire.ts'

const certificates = await needCertificates()

/** Says why HTTP/2 cannot be tested here; null: it can. */
export const { missing } = certificates

/** Whether the gateway's own codec is tested, and not Node's. */
export const isOwnCodec = process.env.HTTP2_CODEC !== 'node'

/** Writes what `listen` needs for HTTP/2, with a certificate for `localhost` and 127.0.0.1. */
export const listenHttp2 = (codec = isOwnCodec ? 'own' : 'node'): Record<string, unknown> => {
  const { cert: certificate, key } = certificates.made.right
  return { http2: { codec }, tls: { certificates: [{ certificate, key }] } }
}

/** Boots a gateway that speaks HTTP/2, and closes it when the test has finished. */
export const bootHttp2 = (settings: Settings = {}): Promise<TestGateway> =>
  bootGateway({ ...settings, listen: { ...listenHttp2(), ...settings.listen } })

/** Connects Node's client, which shows a certificate if it has one; it is cut when the test has finished. */
export const dialHttp2 = (port: number, pair: Partial<Pair> = {}): ClientHttp2Session => {
  const session = openHttp2Session(port, pair)
  onTestFinished(() => void session.destroy())
  return session
}

/** Connects one that the caller destroys. */
export const openHttp2Session = (port: number, pair: Partial<Pair> = {}): ClientHttp2Session => {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, ...pair })
  session.on('error', () => {})
  return session
}

/** What came back on a stream. */
export interface Http2StreamResponse {
  readonly status: number
  /** Flat, as on the wire, without the pseudo-fields. */
  readonly fields: readonly string[]
  readonly body: Buffer
  readonly sha256: string
  /** 0: the stream ended well. */
  readonly code: number
  readonly interim: readonly Record<string, unknown>[]
}

/** Reads a response to its end, however it ends. */
export const readStreamResponse = (stream: ClientHttp2Stream): Promise<Http2StreamResponse> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    const interim: Record<string, unknown>[] = []
    let status = 0
    let fields: readonly string[] = []
    stream.on('headers', (headers) => interim.push({ ...headers }))
    stream.on('response', (headers, _flags, raw?: readonly string[]) => {
      status = Number(headers[':status'])
      fields = (raw ?? []).filter((_, i, all) => !all[i - (i % 2)]?.startsWith(':'))
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', () => {})
    stream.on('close', () => {
      const body = Buffer.concat(chunks)
      resolve({ status, fields, body, sha256: sha256(body), code: stream.rstCode ?? 0, interim })
    })
  })

/** Asks on a session, with a body or without. */
export const requestHttp2 = (
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: Buffer | string,
): Promise<Http2StreamResponse> => {
  const stream = session.request(headers, { endStream: body === undefined })
  const response = readStreamResponse(stream)
  if (body !== undefined) stream.end(body)
  return response
}

/** One frame (RFC 9113 §4.1). */
export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** Renders a frame. */
export const frame = (type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Renders a header block without Huffman and without the table (RFC 7541 §6.2.2). */
export const block = (...fields: readonly string[]): Buffer => {
  const parts: Buffer[] = []
  for (let i = 0; i < fields.length; i += 2) parts.push(Buffer.from([0]), text(fields[i]), text(fields[i + 1]))
  return Buffer.concat(parts)
}

const text = (value = ''): Buffer => {
  const bytes = Buffer.from(value, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  const length = [127]
  let rest = bytes.length - 127
  for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128)
  return Buffer.concat([Buffer.from([...length, rest]), bytes])
}

/** Lists the pseudo-fields of a GET. */
export const get = (path = '/market/insights', method = 'GET'): string[] => [
  ...[':method', method, ':scheme', 'https', ':authority', 'localhost', ':path', path],
]

/** Renders the head of a request; more follows unless `end`. */
export const head = (stream: number, fields: readonly string[] = get(), end = true): Buffer =>
  frame(1, end ? 5 : 4, stream, block(...fields))

/** A connection on which a test writes frames of its own choosing. The preface and empty SETTINGS have been sent. */
export interface FrameClient {
  readonly socket: TLSSocket
  readonly frames: readonly Frame[]
  /** Writes, and waits until the system has taken it; the connection may be gone. */
  send(...bytes: readonly Buffer[]): Promise<void>
  /** Waits for a frame, or for the end of the connection: undefined. */
  frame(wanted: (each: Frame) => boolean): Promise<Frame | undefined>
  /** Waits for the end of the connection. */
  ended(): Promise<void>
}

/** Connects to a port of the loopback and begins HTTP/2. `greet` false: nothing is said. */
export const frameClient = async (port: number, greet = true): Promise<FrameClient> => {
  const client = await openFrameClient(port, greet)
  onTestFinished(() => void client.socket.destroy())
  return client
}

/** Connects one that the caller closes. */
export const openFrameClient = async (port: number, greet = true): Promise<FrameClient> => {
  const socket = connectTls({ port, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false })
  const frames: Frame[] = []
  let looks: (() => void)[] = []
  let left = Buffer.alloc(0)
  const look = (): void => {
    const waiting = looks
    looks = []
    for (const each of waiting) each()
  }
  socket.on('error', () => {})
  socket.on('close', look)
  socket.on('data', (chunk: Buffer) => {
    left = Buffer.concat([left, chunk])
    while (left.length >= 9 && left.length >= 9 + left.readUIntBE(0, 3)) {
      const end = 9 + left.readUIntBE(0, 3)
      const payload = Buffer.from(left.subarray(9, end))
      frames.push({ type: left.readUInt8(3), flags: left.readUInt8(4), stream: left.readUInt32BE(5), payload })
      left = left.subarray(end)
    }
    look()
  })
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve as () => void).once('error', reject))
  const client: FrameClient = {
    socket,
    frames,
    send: (...bytes) =>
      new Promise((resolve) => {
        if (socket.destroyed) resolve()
        else socket.write(Buffer.concat(bytes), () => resolve())
      }),
    async frame(wanted) {
      for (;;) {
        const found = frames.find(wanted)
        if (found !== undefined || socket.destroyed) return found
        await new Promise<void>((resolve) => looks.push(resolve))
      }
    },
    async ended() {
      while (!socket.destroyed) await new Promise<void>((resolve) => looks.push(resolve))
    },
  }
  if (greet) await client.send(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0))
  return client
}

/** Reads the error code of RST_STREAM or GOAWAY. */
export const codeOf = ({ type, payload }: Frame): number => payload.readUInt32BE(type === 7 ? 4 : 0)
