/** The upstream's side of the floors: bare sockets, with no policy, no limit and hardly a check. */
import { connect, type Socket } from 'node:net'
import { batchWrite } from '../../../src/core/lib/turn-writes.ts'
import { allOperations } from '../../../src/operations.ts'
import { makeDestination } from './node-log.ts'

/** The port to listen on, that of the upstream, and the file of the log; `folder` may hold a certificate. */
export const [port = '', upstreamPort = '', log, folder] = process.argv.slice(2)
const lines = makeDestination(log)

/** The operation of each method and path. */
const nine = new Map<string, string>(allOperations.map(({ id, method, path }) => [`${method} ${path}`, id]))

/** Finds the operation of a request. */
export const findOperation = (method: string, url: string): string | undefined => {
  const end = url.indexOf('?')
  return nine.get(`${method} ${end < 0 ? url : url.slice(0, end)}`)
}

/** Renders the head of a request; `fields` are flat. */
export const renderRequest = (method: string, url: string, fields: readonly string[]): string => {
  let head = `${method} ${url} HTTP/1.1\r\n`
  for (let i = 0; i < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`
  return `${head}\r\n`
}

/** Writes the line of an exchange. */
export const logExchange = (client: string | undefined, operation: string, startedAt: number): void =>
  void lines.write(
    `{"client":"${client}","operation":"${operation}","status":200,` +
      `"durationMs":${performance.now() - startedAt},"msg":"exchange"}\n`,
  )

/** Splits a response into its fields, flat. */
export const splitFields = (result: string, bodyAt: number): string[] => {
  const fields: string[] = []
  const lines = result.slice(0, bodyAt - 4).split('\r\n')
  for (const line of lines.slice(1)) {
    const at = line.indexOf(': ')
    fields.push(line.slice(0, at), line.slice(at + 2))
  }
  return fields
}

/** Takes a response, latin1: all of it, and where its body begins. */
type Take = (response: string, bodyAt: number) => void

/** A connection to the upstream, with one response on its way. */
class Upstream {
  readonly socket: Socket
  #take: Take | null = null
  #result = ''
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
      this.#result = text
      this.#bodyAt = text.indexOf('\r\n\r\n') + 4
      this.#left = this.#bodyAt + Number(/content-length: (\d+)/i.exec(text)?.[1])
    } else this.#result += text
    this.#left -= length
    if (this.#left > 0) return true
    free.push(this)
    this.#take?.(this.#result, this.#bodyAt)
    return true
  }
}

const free: Upstream[] = []

/**
 * Sends a request on an idle connection. It takes every response for a 200 with a Content-Length, and holds all of it.
 * `take` runs at the end of a turn of the event loop, with all others.
 */
export const forward = (head: string, body: readonly Buffer[], take: Take): void =>
  (free.pop() ?? new Upstream()).ask((result, bodyAt) => batchWrite(() => take(result, bodyAt)), head, body)
