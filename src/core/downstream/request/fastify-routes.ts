import type { IncomingMessage, ServerResponse } from 'node:http'
import { registerHooks } from 'node:module'
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { allOperations, type Operation } from '../../../operations.ts'
import { noSchemaCompilers } from '../../lib/no-schema-compilers.ts'
import type { DownstreamRequest, DownstreamResponse } from '../codec.ts'
import type { GetListenerConfig } from '../listener/listener-config.ts'
import type { RequestHandler } from './request-handler.ts'
import { operationsByPath, parseRequestTarget, toRoutablePath } from './validate-request.ts'

// Fastify reads `url`, `method` and `headers`, and leaves a response alone once its reply is hijacked.
type RawRequest = IncomingMessage & DownstreamRequest
type RawResponse = ServerResponse & DownstreamResponse

/**
 * One registration of @fastify/http-proxy a route: `routes` × `httpMethods` would allow 18 operations. The `preHandler`
 * takes over: http-proxy's handler never runs, and Fastify's server never listens.
 */
export const registerRoutes = async (getListenerConfig: GetListenerConfig, handleRequest: RequestHandler) => {
  const app = fastify({
    logger: false,
    schemaController: noSchemaCompilers,
    exposeHeadRoutes: false,
    genReqId: () => '',
    return503OnClosing: false,
  })
  // So Fastify leaves all bodies unread.
  for (const method of app.supportedMethods) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })

  const dispatch = ({ raw }: FastifyRequest, reply: FastifyReply, operation: Operation | null): void => {
    reply.hijack()
    handleRequest(raw as RawRequest, reply.raw as RawResponse, operation)
  }
  for (const operation of allOperations)
    app.register(httpProxy, {
      upstream: 'http://unused.invalid', // mandatory, never used
      routes: [operation.path],
      httpMethods: [operation.method],
      preHandler: (request, reply) => dispatch(request, reply, operation),
    })
  // The path may be one of the nine, with another method.
  app.setNotFoundHandler((request, reply) => dispatch(request, reply, operationsByPath.get(request.url) ?? null))
  app.setErrorHandler((_error, { raw }, reply) => {
    reply.hijack()
    raw.destroy() // an error of Fastify: `handleRequest` handles all others
  })
  await app.ready()
  return {
    route(request: DownstreamRequest, response: DownstreamResponse): void {
      request.target = parseRequestTarget(request.url ?? '')
      request.originalUrl = request.url
      request.url = toRoutablePath(request.target?.path ?? '', getListenerConfig().config.listen.basePath)
      app.routing(request as RawRequest, response as RawResponse)
    },
    close: (): Promise<void> => app.close(),
  }
}

/** Without @fastify/reply-from and `ws`: unused, they cost 6 MB a process and 10 % of the start. */
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
