import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { expect, test } from 'vitest'
import { httpProxy } from '../../../../src/core/downstream/request/fastify-routes.ts'

test('the proxy that registers the nine routes has nothing to send requests with', async () => {
  const preHandler = (_: FastifyRequest, reply: FastifyReply): void => void reply.send({ from: 'from' in reply })
  const app = fastify().register(httpProxy, { upstream: 'http://upstream.invalid', preHandler })

  const response = await app.inject('/')

  expect(response.json()).toEqual({ from: false })
})
