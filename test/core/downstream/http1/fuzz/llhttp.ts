/** Runs llhttp on requests, as Node's own server uses it: strict, as it is by default. Nothing is sent to a network. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { duplexPair } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

/** A request as llhttp reads it; latin1. */
export interface LlhttpRequest {
  readonly method: string
  readonly target: string
  readonly version: string
  readonly fields: readonly string[]
  body: string
  complete: boolean
  /** Null: Node does not say, of a tunnel. */
  readonly persistent: boolean | null
}

/** What llhttp reads of a connection. */
export interface LlhttpResult {
  readonly requests: LlhttpRequest[]
  /** The name of its error; null: none. */
  rejected: string | null
}

// Any message of the comparison is smaller. A Host is asked for behind the parser.
const server = createServer({ insecureHTTPParser: false, requireHostHeader: false, maxHeaderSize: 256 * 1024 })
server.maxHeadersCount = 0

const results = new WeakMap<object, LlhttpResult & { readonly messages: IncomingMessage[] }>()

const onRequest = (message: IncomingMessage, { shouldKeepAlive }: Partial<ServerResponse> = {}): void => {
  const result = results.get(message.socket)
  if (result === undefined) throw new Error('a request of no connection')
  const request: LlhttpRequest = {
    method: message.method ?? '',
    target: message.url ?? '',
    version: message.httpVersion,
    fields: message.rawHeaders,
    body: '',
    complete: false,
    persistent: shouldKeepAlive ?? null,
  }
  result.requests.push(request)
  result.messages.push(message)
  message.on('error', () => {}) // the connection was destroyed
  message.on('data', (piece: Buffer) => {
    request.body += piece.toString('latin1')
  })
}

// No response is ever sent: the requests of a connection come all the same.
server.on('request', onRequest)
server.on('checkExpectation', onRequest)
server.on('connect', (message: IncomingMessage) => onRequest(message))
server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
  const result = results.get(socket)
  if (result !== undefined) result.rejected ??= code ?? 'no code'
  socket.destroy()
})

/** Parses the requests of a connection. They come in one part, and behind them the connection stays open. */
export const runLlhttp = async (bytes: Buffer): Promise<LlhttpResult> => {
  const [client, socket] = duplexPair()
  const result = { requests: [] as LlhttpRequest[], rejected: null as string | null, messages: [] as IncomingMessage[] }
  results.set(socket, result)
  server.emit('connection', socket)
  client.on('error', () => {})
  client.resume()
  client.write(bytes)
  // What the streams do, they do before that.
  await setImmediate()
  const { messages, requests, rejected } = result
  for (const [i, { complete }] of messages.entries()) (requests[i] as LlhttpRequest).complete = complete
  client.destroy()
  socket.destroy()
  return { requests, rejected }
}
