/**
 * Forwards the nine from Node's own HTTP server to bare sockets, with no policy, no limit and hardly a check: what a
 * gateway on this server cannot go below. It takes every response for a 200 with a Content-Length, and holds all of it.
 * A server for the bench only.
 */
import { createServer, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { allOperations } from '../../../src/operations.ts'
import { batchWrite } from '../../../src/shared/write-batching.ts'
import { makeDestination } from './node-log.ts'

const [port, upstreamPort, log] = process.argv.slice(2)
const lines = makeDestination(log)
const nine = new Map<string, string>(allOperations.map(({ id, method, path }) => [`${method} ${path}`, id]))

/** Takes a response, latin1: all of it, and where its body begins. */
type Take = (response: string, bodyAt: number) => void

/** A connection to the upstream, with one response on its way. */
class Upstream {
  readonly socket: Socket
  #take: Take | null = null
  #answer = ''
  #bodyAt = 0
  /** Bytes of the response that are still to come. */
  #left = 0

  constructor() {
    this.socket = connect({
      port: Number(upstreamPort),
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(64 * 1024),
        callback: (length, bytes) => this.#read(bytes as Buffer, length),
      },
    })
  }

  ask(take: Take, head: string, body: readonly Buffer[]): void {
    this.#take = take
    batchWrite(() => {
      const [only] = body
      if (body.length === 0) return void this.socket.write(head, 'latin1')
      if (body.length === 1 && only !== undefined && only.length <= 8 * 1024)
        return void this.socket.write(head + only.toString('latin1'), 'latin1')
      this.socket.cork()
      this.socket.write(head, 'latin1')
      for (const piece of body) this.socket.write(piece)
      this.socket.uncork()
    })
  }

  #read(bytes: Buffer, length: number): boolean {
    const text = bytes.toString('latin1', 0, length)
    if (this.#left === 0) {
      this.#answer = text
      this.#bodyAt = text.indexOf('\r\n\r\n') + 4
      this.#left = this.#bodyAt + Number(/content-length: (\d+)/i.exec(text)?.[1])
    } else this.#answer += text
    this.#left -= length
    if (this.#left > 0) return true
    free.push(this)
    this.#take?.(this.#answer, this.#bodyAt)
    return true
  }
}

const free: Upstream[] = []

const answering =
  (response: ServerResponse): Take =>
  (answer, bodyAt) =>
    batchWrite(() => {
      const fields: string[] = []
      for (const line of answer
        .slice(0, bodyAt - 4)
        .split('\r\n')
        .slice(1)) {
        const at = line.indexOf(': ')
        fields.push(line.slice(0, at), line.slice(at + 2))
      }
      response.sendDate = false
      response.writeHead(200, fields)
      response.end(answer.slice(bodyAt), 'latin1')
    })

const server = createServer((request, response) => {
  const startedAt = performance.now()
  const { method = '', url = '', rawHeaders } = request
  const end = url.indexOf('?')
  const operation = nine.get(`${method} ${end < 0 ? url : url.slice(0, end)}`)
  if (operation === undefined) return response.writeHead(404).end()
  let head = `${method} ${url} HTTP/1.1\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2) head += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`
  head += '\r\n'
  response.on('close', () =>
    lines.write(
      `{"client":"${request.socket.remoteAddress}","operation":"${operation}","status":${response.statusCode},` +
        `"durationMs":${performance.now() - startedAt},"msg":"exchange"}\n`,
    ),
  )
  const send = (body: readonly Buffer[]): void => (free.pop() ?? new Upstream()).ask(answering(response), head, body)
  if (method === 'GET') return send([])
  const body: Buffer[] = []
  request.on('data', (piece) => body.push(piece)).on('end', () => send(body))
})
server.keepAliveTimeout = 75_000
server.listen({ port: Number(port), host: '127.0.0.1', backlog: 1024 })
