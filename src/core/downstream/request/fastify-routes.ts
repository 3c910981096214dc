import type { IncomingMessage, ServerResponse } from 'node:http'
import { registerHooks } from 'node:module'
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { allOperations, type Operation } from '../../../operations.ts'
import { noSchemaCompilers } from '../../lib/no-schema-compilers.ts'
import type { DownstreamRequest, DownstreamResponse } from '../codec.ts'
import type { GetListenerConfig } from '../listener/listener-config.ts'
import { operationsByPath, parseRequestTarget, toRoutablePath } from './match-request.ts'
import type { RequestHandler } from './request-handler.ts'

// As Fastify's types have them. It reads the URL, the method and `headers`, and leaves a response alone once its reply
// is hijacked.
type RawRequest = IncomingMessage & DownstreamRequest
type RawResponse = ServerResponse & DownstreamResponse

/**
 * Registers the nine routes with Fastify, each by its own registration of @fastify/http-proxy: its `routes` ×
 * `httpMethods` is a cross product, so a single one would let eighteen through. The `preHandler` takes each request
 * over, so http-proxy's own handler never runs. Fastify's server never listens.
 */
export const registerRoutes = async (getListenerConfig: GetListenerConfig, handleRequest: RequestHandler) => {
  const app = fastify({
    logger: false,
    schemaController: noSchemaCompilers,
    exposeHeadRoutes: false,
    genReqId: () => '',
    return503OnClosing: false,
  })
  // Bodies stay unread, whatever they are: no method has one that Fastify knows of.
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })

  const dispatch = ({ raw }: FastifyRequest, reply: FastifyReply, operation: Operation | null): void => {
    reply.hijack()
    handleRequest(raw as RawRequest, reply.raw as RawResponse, operation)
  }
  for (const operation of allOperations)
    app.register(httpProxy, {
      upstream: 'http://unused.invalid', // mandatory, and never used
      routes: [operation.path],
      httpMethods: [operation.method],
      preHandler: (request, reply) => dispatch(request, reply, operation),
    })
  // The path may be one of the nine, and the method not its own.
  app.setNotFoundHandler((request, reply) => dispatch(request, reply, operationsByPath.get(request.url) ?? null))
  app.setErrorHandler((_error, { raw }, reply) => {
    reply.hijack()
    raw.destroy() // an error of Fastify's own: `handleRequest` replies to every other
  })
  await app.ready()
  return {
    /** Finds the operation of a request, and has the request served. */
    route(request: DownstreamRequest, response: DownstreamResponse): void {
      request.target = parseRequestTarget(request.url ?? '')
      request.originalUrl = request.url
      request.url = toRoutablePath(request.target?.path ?? '', getListenerConfig().config.listen.basePath)
      app.routing(request as RawRequest, response as RawResponse)
    },
    close: (): Promise<void> => app.close(),
  }
}

/**
 * Loads @fastify/http-proxy without the modules that it would send with: @fastify/reply-from, with an undici of its
 * own, and `ws` take 6 MB of each process and a tenth of the time that it takes to start. Node's module hooks put an
 * empty plugin in their place.
 */
const loadHttpProxy = async () => {
  const hooks = registerHooks({
    load: (url, context, nextLoad) =>
      /\/node_modules\/(?:@fastify\/reply-from|ws)\//.test(url)
        ? { format: 'commonjs', source: 'module.exports = (_app, _options, done) => done()', shortCircuit: true }
        : nextLoad(url, context),
  })
  try {
    return (await import('@fastify/http-proxy')).default
  } finally {
    hooks.deregister()
  }
}

export const httpProxy = await loadHttpProxy()
