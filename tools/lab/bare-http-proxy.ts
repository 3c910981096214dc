import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import httpProxy, { type FastifyHttpProxyOptions } from '@fastify/http-proxy'
import fastify from 'fastify'
import type * as Undici from 'undici'
import { onTestFinished } from 'vitest'
import { allOperations } from '../../src/operations.ts'

// The proxy's own copy: it knows a pool of several endpoints by its class.
const { BalancedPool } = createRequire(createRequire(import.meta.url).resolve('@fastify/reply-from'))(
  'undici',
) as typeof Undici

/** Boots bare @fastify/http-proxy in front of endpoints, with its own balancing over several, and returns its port. */
export const bootBareHttpProxy = async (urls: readonly string[]): Promise<number> => {
  const app = fastify({ exposeHeadRoutes: false })
  for (const { method, path } of allOperations) {
    const options = {
      upstream: urls[0] as string,
      routes: [path],
      httpMethods: [method],
      ...(urls.length > 1 && { undici: new BalancedPool([...urls]) }),
    }
    app.register((scope) => scope.register(httpProxy, options as unknown as FastifyHttpProxyOptions))
  }
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  return (app.server.address() as AddressInfo).port
}
