import type { Server } from 'node:http'
import { createRequire, Module } from 'node:module'
import type { Server as NetServer } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { allOperations, type Operation } from '../../../operations.ts'
import { noSchemaCompilers } from '../../lib/no-schema-compilers.ts'
import type { DownstreamRequest, DownstreamResponse } from '../codec.ts'
import type { GetListenerConfig } from '../listener/listener-config.ts'
import type { RequestHandler } from './request-handler.ts'
import { parseRequestTarget } from './request-target.ts'

/**
 * Registers the nine routes with Fastify, each by its own registration of @fastify/http-proxy: its `routes` ×
 * `httpMethods` is a cross product, so a single one would let eighteen through. Requests are served from the
 * `preHandler` on: before the `handler` runs, http-proxy makes three URL objects of the path to check it. The `handler`
 * option is set all the same: the default one calls `reply.from`, which is not loaded. Nothing of it is ready before
 * `ready` is called.
 */
export const registerRoutes = (
  server: NetServer,
  getListenerConfig: GetListenerConfig,
  handleRequest: RequestHandler,
): FastifyInstance => {
  const app = fastify({
    // It takes connections that speak HTTP, and Fastify listens to none of its events but errors.
    serverFactory: () => server as Server,
    rewriteUrl: (request) =>
      toRoutablePath(request as never as DownstreamRequest, getListenerConfig().config.listen.basePath),
    logger: false,
    schemaController: noSchemaCompilers,
    exposeHeadRoutes: false,
    genReqId: () => '',
    return503OnClosing: false,
  })
  // Bodies stay unread, whatever they are: no method has one that Fastify knows of.
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })

  const dispatch = ({ raw }: FastifyRequest, reply: FastifyReply, routedOperation: Operation | null): void => {
    reply.hijack()
    handleRequest(raw as never as DownstreamRequest, reply.raw as never as DownstreamResponse, routedOperation)
  }
  for (const operation of allOperations)
    app.register(httpProxy, {
      upstream: 'http://unused.invalid', // mandatory, and never used
      routes: [operation.path],
      httpMethods: [operation.method],
      preHandler: (request: FastifyRequest, reply: FastifyReply) => dispatch(request, reply, operation),
      handler: unusedHandler,
    } as Parameters<typeof httpProxy>[1])
  app.setNotFoundHandler((request, reply) => dispatch(request, reply, null))
  app.setErrorHandler((_error, { raw }, reply) => {
    reply.hijack()
    raw.destroy() // an error of Fastify's own: `handleRequest` replies to every other
  })
  return app
}

/**
 * Parses the target, and returns the path that Fastify routes on: the client's own, byte for byte, below the base path.
 * A path that Fastify would read differently, decoded or without its beginning, goes where no route is.
 */
const toRoutablePath = (request: DownstreamRequest, basePath: string): string => {
  request.target = parseRequestTarget(request.url ?? '')
  const path = request.target?.path
  if (path === undefined || path.includes('%') || !path.startsWith(basePath)) return unroutedPath
  return path.charCodeAt(basePath.length) === slash ? path.slice(basePath.length) : unroutedPath
}

const unroutedPath = '/'
const slash = 0x2f

const unusedHandler = (): never => {
  throw new Error('sending is not @fastify/http-proxy’s')
}

/**
 * Loads @fastify/http-proxy without the modules that it sends with, which are never used: @fastify/reply-from, with an
 * undici of its own and Node's, and `ws` are more than ten megabytes. While it is loaded, `require` finds a plugin that
 * does nothing in their place; any other module that loads one of the three gets it whole.
 */
const loadHttpProxy = (): typeof import('@fastify/http-proxy').default => {
  const require = createRequire(import.meta.url)
  const proxy = require.resolve('@fastify/http-proxy')
  const unused = ['@fastify/reply-from', 'ws'].map((name) => createRequire(proxy).resolve(name))
  for (const path of unused)
    require.cache[path] = Object.assign(new Module(path), { exports: noopPlugin, loaded: true })
  try {
    return require(proxy)
  } finally {
    for (const path of [proxy, ...unused]) delete require.cache[path]
  }
}

const noopPlugin = (_app: unknown, _options: unknown, done: () => void): void => done()

export const httpProxy = loadHttpProxy()
