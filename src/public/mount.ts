import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { catalog } from '../catalog.ts'

/** Serves a request that Fastify has routed. The reply is already ours to write. */
type Serve = (request: FastifyRequest) => void

/**
 * Mounts the nine, one registration of @fastify/http-proxy each: its `routes` × `httpMethods` is a cross product, so a single one would
 * let eighteen through. Sending is ours, in the `preHandler`: before the `handler` runs, http-proxy makes three URL objects of the path
 * to check it. The `handler` option is set all the same, so that nothing can ever reach its own `reply.from`, which answers 500 with the
 * cause and retries eleven times.
 */
export const mount = (app: FastifyInstance, serve: Serve): void => {
  for (const { path, method } of catalog) {
    app.register(async (scope) => {
      // text/plain would be buffered and limited: bodies stay raw, whatever they are.
      scope.removeAllContentTypeParsers()
      await scope.register(httpProxy, {
        upstream: 'http://unused.invalid', // mandatory, and never used
        routes: [path],
        httpMethods: [method],
        // Duck-typed, or an agent of its own would be made.
        undici: { request: unused } as never,
        // A constant: without it the query is parsed and rendered anew on every request, 255 µs for one of 8 KiB.
        preRewrite: () => path,
        preHandler: (request: FastifyRequest, reply: FastifyReply) => {
          reply.hijack()
          serve(request)
        },
        handler: unused,
      } as Parameters<typeof httpProxy>[1])
    })
  }
}

const unused = (): never => {
  throw new Error('sending is not @fastify/http-proxy’s')
}
