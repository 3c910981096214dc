import type { RequestListener, Server } from 'node:http'
import { createRequire, Module } from 'node:module'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { catalog, type Operation } from '../catalog.ts'
import { noSchemas } from '../shared/no-schemas.ts'
import type { Arrival } from './arrival.ts'
import type { CurrentEdge } from './edge.ts'
import type { Serve } from './front.ts'
import type { Http1Response } from './http1-response.ts'
import type { Stray } from './stray.ts'
import { parseTarget } from './target.ts'

/**
 * Makes Fastify route the nine, by one registration of @fastify/http-proxy each: its `routes` × `httpMethods` is a cross product, so a
 * single one would let eighteen through. Serving is ours, from the `preHandler` on: before the `handler` runs, http-proxy makes three URL
 * objects of the path to check it. The `handler` option is set all the same: its own calls `reply.from`, which is not loaded. Nothing of it
 * is ready before `ready` is called.
 */
export const mount = (
  server: (route: RequestListener) => Server,
  strays: Stray,
  currentEdge: CurrentEdge,
  serve: Serve,
): FastifyInstance => {
  const app = fastify({
    serverFactory: server,
    rewriteUrl: (request) => routable(request as Arrival, currentEdge().config.listen.basePath),
    // Fastify listens for these itself, and would write an answer of its own beside ours.
    clientErrorHandler: (error, socket) => strays.parserError(error, socket),
    logger: false,
    schemaController: noSchemas,
    exposeHeadRoutes: false,
    genReqId: () => '',
    return503OnClosing: false,
  })
  // Bodies stay unread, whatever they are: no method has one that Fastify knows of.
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })

  const take = ({ raw }: FastifyRequest, reply: FastifyReply, routed: Operation | null): void => {
    reply.hijack()
    serve(raw as Arrival, reply.raw as Http1Response, routed)
  }
  for (const operation of catalog)
    app.register(httpProxy, {
      upstream: 'http://unused.invalid', // mandatory, and never used
      routes: [operation.path],
      httpMethods: [operation.method],
      preHandler: (request: FastifyRequest, reply: FastifyReply) => take(request, reply, operation),
      handler: unused,
    } as Parameters<typeof httpProxy>[1])
  app.setNotFoundHandler((request, reply) => take(request, reply, null))
  app.setErrorHandler((_error, { raw }, reply) => {
    reply.hijack()
    raw.destroy() // an error of Fastify's own: whatever fails in `serve` is answered there
  })
  return app
}

/**
 * Takes a target apart, and gives the path that Fastify routes on: the client's own, byte for byte, below the base path. One that Fastify
 * would read otherwise than it stands, decoded or without its beginning, goes where no route is.
 */
const routable = (request: Arrival, basePath: string): string => {
  request.target = parseTarget(request.url ?? '')
  const path = request.target?.path
  if (path === undefined || path.includes('%') || !path.startsWith(basePath)) return nowhere
  return path.charCodeAt(basePath.length) === slash ? path.slice(basePath.length) : nowhere
}

const nowhere = '/'
const slash = 0x2f

const unused = (): never => {
  throw new Error('sending is not @fastify/http-proxy’s')
}

/**
 * Loads @fastify/http-proxy without what it sends with, which is never used: @fastify/reply-from, with an undici of its own and Node's, and
 * `ws` are more than ten megabytes. While it is loaded, `require` finds a plugin that does nothing in their place; whoever else loads one of
 * the three gets it whole.
 */
const load = (): typeof import('@fastify/http-proxy').default => {
  const require = createRequire(import.meta.url)
  const proxy = require.resolve('@fastify/http-proxy')
  const unused = ['@fastify/reply-from', 'ws'].map((name) => createRequire(proxy).resolve(name))
  for (const path of unused) require.cache[path] = Object.assign(new Module(path), { exports: nothing, loaded: true })
  try {
    return require(proxy)
  } finally {
    for (const path of [proxy, ...unused]) delete require.cache[path]
  }
}

const nothing = (_app: unknown, _options: unknown, done: () => void): void => done()

export const httpProxy = load()
