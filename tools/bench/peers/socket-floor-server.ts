/**
 * Forwards the nine from bare sockets to bare sockets, with no policy, no limit and hardly a check: what a gateway in
 * Node cannot go below. It takes every head for one that has come whole. A server for the bench only.
 */
import { createServer, type Socket } from 'node:net'
import { HeadScanner, isTokenByte } from '../../../src/core/exchange/http1/head-scanner.ts'
import { findOperation, forward, logExchange, port, renderRequest, splitFields } from './floor-upstream.ts'

const space = 0x20
let methodTo = 0
let targetTo = 0

const scanner = new HeadScanner(
  {
    reset() {},
    scan(bytes, base, from) {
      let at = from
      while (isTokenByte(bytes[at] as number)) at++
      methodTo = at - base
      do at++
      while ((bytes[at] as number) > space)
      targetTo = at - base
      return at + ' HTTP/1.1'.length
    },
  },
  { maxBytes: 64 * 1024, maxFields: 100 },
  (_flaw, message) => new Error(message),
)

class Client {
  readonly #socket: Socket
  #method = ''
  #url = ''
  #fields: string[] = []
  #left = 0
  #body: Buffer[] = []
  #startedAt = 0

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes: Buffer) => this.#read(bytes)).on('error', () => {})
  }

  #read(bytes: Buffer): void {
    const at = this.#left === 0 ? this.#readHead(bytes) : 0
    if (at < bytes.length) {
      this.#body.push(at === 0 ? bytes : bytes.subarray(at))
      this.#left -= bytes.length - at
    }
    if (this.#left === 0) this.#serve()
  }

  #readHead(bytes: Buffer): number {
    scanner.awaitHead()
    const at = scanner.read(bytes, 0, bytes.length)
    const { text } = scanner
    this.#startedAt = performance.now()
    this.#method = text.slice(0, methodTo)
    this.#url = text.slice(methodTo + 1, targetTo)
    this.#fields = []
    this.#body = []
    for (let i = 0; i < scanner.fieldCount; i++) {
      const name = scanner.name(i)
      const value = scanner.value(i)
      this.#fields.push(name, value)
      if (name.length === 14 && name.toLowerCase() === 'content-length') this.#left = Number(value)
    }
    return at
  }

  #serve(): void {
    const socket = this.#socket
    const startedAt = this.#startedAt
    const operation = findOperation(this.#method, this.#url)
    if (operation === undefined) return void socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
    forward(renderRequest(this.#method, this.#url, this.#fields), this.#body, (response, bodyAt) => {
      const fields = splitFields(response, bodyAt)
      let head = 'HTTP/1.1 200 OK\r\n'
      for (let i = 0; i < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`
      socket.write(`${head}Connection: keep-alive\r\n\r\n${response.slice(bodyAt)}`, 'latin1')
      logExchange(socket.remoteAddress, operation, startedAt)
    })
  }
}

createServer({ noDelay: true }, (socket) => new Client(socket)).listen({
  port: Number(port),
  host: '127.0.0.1',
  backlog: 1024,
})
