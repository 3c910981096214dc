/**
 * Serves the nine with httpxy on node:http: exact targets by one look into a map, an id, forwarded fields, one log line
 * an exchange.
 */
import { randomUUID } from 'node:crypto'
import { Agent, createServer, type ServerResponse } from 'node:http'
import { createProxyServer } from 'httpxy'
import { allOperations } from '../../../src/operations.ts'
import { makeLogger } from './node-log.ts'

const [port, upstreamPort] = process.argv.slice(2)
const upstream = `http://127.0.0.1:${upstreamPort}`
const logger = makeLogger('buffered')
const operations = new Map(allOperations.map(({ id, method, path }) => [`${method} ${path}`, id]))

const proxy = createProxyServer({
  target: upstream,
  changeOrigin: true,
  xfwd: true,
  agent: new Agent({ keepAlive: true, maxSockets: 128, maxFreeSockets: 128 }),
  // A client's Connection field is its own affair: passed on, it would end the upstream connection.
  headers: { connection: 'keep-alive' },
})

const fail = (response: ServerResponse, status: number): void => {
  response.statusCode = status
  response.end()
}

const server = createServer((request, response) => {
  const startedAt = performance.now()
  const [path = ''] = (request.url ?? '').split('?', 1)
  const operation = operations.get(`${request.method} ${path}`)
  if (operation === undefined) return fail(response, 404)
  const requestId = randomUUID()
  request.headers['x-request-id'] = requestId
  response.setHeader('x-request-id', requestId)
  response.once('finish', () => {
    logger.info(
      {
        requestId,
        client: request.socket.remoteAddress,
        operation,
        status: response.statusCode,
        endpoint: upstream,
        durationMs: performance.now() - startedAt,
        bytesIn: Number(request.headers['content-length'] ?? 0),
        bytesOut: Number(response.getHeader('content-length') ?? 0),
      },
      'exchange',
    )
  })
  proxy.web(request, response).catch(() => fail(response, 502))
})

// As long as the gateway keeps an idle client connection.
server.keepAliveTimeout = 75_000
server.listen({ port: Number(port), host: '127.0.0.1', backlog: 1024 })
