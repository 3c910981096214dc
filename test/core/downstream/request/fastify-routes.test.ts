import { createRequire } from 'node:module'
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { expect, test } from 'vitest'
import { httpProxy } from '../../../../src/core/downstream/request/fastify-routes.ts'

/** Returns whether the reply of a route that a proxy registers can be sent upstream. */
const sends = async (proxy: typeof httpProxy): Promise<boolean> => {
  const preHandler = (_: FastifyRequest, reply: FastifyReply): void => void reply.send({ from: 'from' in reply })
  const app = fastify().register(proxy, { upstream: 'http://upstream.invalid', preHandler })
  return (await app.inject('/')).json().from
}

test('the proxy that registers the nine routes has nothing to send with', async () => {
  expect(await sends(httpProxy)).toBe(false)
})

test('another module that loads the proxy gets one that sends', async () => {
  expect(await sends(createRequire(import.meta.url)('@fastify/http-proxy'))).toBe(true)
})
