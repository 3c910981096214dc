/**
 * Serves the nine with @fastify/http-proxy and nothing of ours. Given every advantage that its options offer for free:
 * no request logging of Fastify's or reply-from's own, pino without pid and host name, and (by default) a buffered
 * destination.
 */
import httpProxy from '@fastify/http-proxy'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { allOperations } from '../../../src/operations.ts'
import { makeLogger } from './node-log.ts'

const [port, upstreamPort, log] = process.argv.slice(2)
const upstream = `http://127.0.0.1:${upstreamPort}`

const app = fastify({ loggerInstance: makeLogger(log), disableRequestLogging: true, exposeHeadRoutes: false })

for (const { id, method, path } of allOperations) {
  app.register(async (scope) => {
    // The fields of the gateway's access log that a hook here can know.
    scope.addHook('onResponse', async (request: FastifyRequest, reply: FastifyReply) => {
      request.log.info(
        {
          client: request.ip,
          operation: id,
          status: reply.statusCode,
          endpoint: upstream,
          durationMs: reply.elapsedTime,
          bytesIn: Number(request.headers['content-length'] ?? 0),
          bytesOut: Number(reply.getHeader('content-length') ?? 0),
        },
        'exchange',
      )
    })
    scope.register(httpProxy, {
      upstream,
      routes: [path],
      httpMethods: [method],
      disableRequestLogging: true,
      undici: { connections: 128, pipelining: 1 },
    })
  })
}

await app.listen({ port: Number(port), host: '127.0.0.1' })
