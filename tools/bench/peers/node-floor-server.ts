/**
 * Forwards the nine from Node's own servers to bare sockets, with no policy, no limit and hardly a check: what a
 * gateway on these servers cannot go below. HTTP/2 where there is a certificate. A server for the bench only.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { join } from 'node:path'
import { findOperation, folder, forward, logExchange, port, renderRequest, splitFields } from './floor-upstream.ts'

const server = createServer((request, response) => {
  const startedAt = performance.now()
  const { method = '', url = '', rawHeaders, socket } = request
  const operation = findOperation(method, url)
  if (operation === undefined) return response.writeHead(404).end()
  response.on('close', () => logExchange(socket.remoteAddress, operation, startedAt))
  const send = (body: readonly Buffer[]): void =>
    forward(renderRequest(method, url, rawHeaders), body, (result, bodyAt) => {
      response.sendDate = false
      response.writeHead(200, splitFields(result, bodyAt))
      response.end(result.slice(bodyAt), 'latin1')
    })
  if (method === 'GET') return send([])
  const body: Buffer[] = []
  request.on('data', (piece) => body.push(piece)).on('end', () => send(body))
})
server.keepAliveTimeout = 75_000

const createHttp2Server = (folder: string) => {
  const pem = (name: string): Buffer => readFileSync(join(folder, name))
  const secure = createSecureServer({ cert: pem('tls.pem'), key: pem('tls.pem.key') })
  secure.on('stream', (stream, headers) => {
    const startedAt = performance.now()
    const { ':method': method = '', ':path': url = '' } = headers
    const operation = findOperation(method, url)
    if (operation === undefined) {
      stream.respond({ ':status': 404 }, { endStream: true })
      return
    }
    const fields = Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith(':') ? (name === ':authority' ? ['host', String(value)] : []) : [name, String(value)],
    )
    stream.on('error', () => {})
    stream.on('close', () => logExchange(stream.session?.socket.remoteAddress, operation, startedAt))
    const send = (body: readonly Buffer[]): void =>
      forward(renderRequest(method, url, fields), body, (result, bodyAt) => {
        if (stream.destroyed || stream.closed) return // its client has left
        stream.respond([':status', 200, ...splitFields(result, bodyAt)] as never)
        stream.end(result.slice(bodyAt), 'latin1')
      })
    if (method === 'GET') return send([])
    const body: Buffer[] = []
    stream.on('data', (piece: Buffer) => body.push(piece)).on('end', () => send(body))
  })
  return secure
}

const listener = folder === undefined ? server : createHttp2Server(folder)
listener.listen({ port: Number(port), host: '127.0.0.1', backlog: 1024 })
