import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type HttpProxy from '@fastify/http-proxy'
import type { FastifyHttpProxyOptions } from '@fastify/http-proxy'
import fastify from 'fastify'
import type * as Undici from 'undici'
import { onTestFinished } from 'vitest'
import { allOperations } from '../../src/operations.ts'

const load = createRequire(import.meta.url)
// A gateway of the same process has loaded it without what it sends with.
for (const path of Object.keys(load.cache))
  if (/\/node_modules\/(@fastify\/(http-proxy|reply-from)|ws)\//.test(path)) delete load.cache[path]
const { default: httpProxy } = load('@fastify/http-proxy') as { readonly default: typeof HttpProxy }

// The proxy's own copy: it knows a pool of several endpoints by its class.
const { BalancedPool } = createRequire(load.resolve('@fastify/reply-from'))('undici') as typeof Undici

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
