import { createHash } from 'node:crypto'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A request as it reached an upstream. */
export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  /** Flat, as on the wire. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  readonly sha256: string
  /** Whether the whole of it arrived. */
  readonly complete: boolean
}

export interface TestUpstream {
  readonly port: number
  readonly url: string
  /** Requests that arrived to the end, in order. */
  readonly requests: readonly ReceivedRequest[]
  /** Requests whose head arrived. */
  readonly begun: () => number
  /** Connections open now. */
  readonly connections: () => number
  /** How many connections were accepted in all. */
  readonly accepted: () => number
  close(): Promise<void>
}

export type Responder = (request: ReceivedRequest, response: ServerResponse) => void

const ok: Responder = ({ sha256, body }, response) => {
  response.writeHead(200, ['Content-Type', 'application/json'])
  response.end(JSON.stringify({ sha256, bytes: body.length }))
}

/**
 * Opens a well-behaved HTTP upstream that records what arrives and responds as the options say (200 with the body's
 * SHA-256 unless).
 */
export const httpUpstream = async (responding: Responder = ok): Promise<TestUpstream> => {
  const upstream = await openHttpUpstream(responding)
  onTestFinished(() => upstream.close())
  return upstream
}

/** Opens one that the caller closes, for use in `beforeAll`. */
export const openHttpUpstream = async (responding: Responder = ok): Promise<TestUpstream> => {
  const requests: ReceivedRequest[] = []
  let begun = 0
  let accepted = 0
  const open = new Set<Socket>()
  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    begun++
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => {})
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const arrived = {
        method: request.method ?? '',
        url: request.url ?? '',
        rawHeaders: request.rawHeaders,
        body,
        sha256: createHash('sha256').update(body).digest('hex'),
        complete: request.complete,
      }
      requests.push(arrived)
      responding(arrived, response)
    })
  }
  const server = createHttpServer({ keepAliveTimeout: 0, maxHeaderSize: 1024 ** 2 }, receive)
  server.on('connection', (socket: Socket) => {
    accepted++
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    requests,
    begun: () => begun,
    connections: () => open.size,
    accepted: () => accepted,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export interface RawUpstream {
  readonly port: number
  readonly url: string
  /** How many connections were accepted in all. */
  readonly accepted: () => number
  readonly connections: () => number
  close(): Promise<void>
}

/** Opens an upstream that is no HTTP server: `onConnection` is given each socket, and misbehaves as it likes. */
export const rawUpstream = async (onConnection: (socket: Socket, nth: number) => void): Promise<RawUpstream> => {
  const upstream = await openRawUpstream(onConnection)
  onTestFinished(() => upstream.close())
  return upstream
}

/** Opens one that the caller closes, for use in `beforeAll`. */
export const openRawUpstream = async (onConnection: (socket: Socket, nth: number) => void): Promise<RawUpstream> => {
  let accepted = 0
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => {})
    onConnection(socket, accepted++)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    accepted: () => accepted,
    connections: () => open.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

/** Waits for a whole request head on a socket, then responds with bytes of the test's choosing (latin1). */
export const onRequest = (socket: Socket, respond: (head: string, socket: Socket) => void): void => {
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    const end = text.indexOf('\r\n\r\n')
    if (end === -1) return
    const head = text.slice(0, end + 4)
    text = text.slice(end + 4)
    respond(head, socket)
  })
}
