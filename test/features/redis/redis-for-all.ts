import { createClient } from '@redis/client'
import { afterAll, beforeAll } from 'vitest'
import { needProgram } from '../../helpers/program.ts'
import { type Redis, startRedis } from '../../helpers/redis.ts'

const connectTo = (url: string) => createClient({ url, RESP: 2 }).connect()

export const redisProgram = await needProgram('redis-server')

/** Starts a Redis for all tests of a `describe`, and connects to it. Both are there once the tests run. */
export const redisForAll = () => {
  let redis: Redis
  let client: Awaited<ReturnType<typeof connectTo>>
  beforeAll(async () => {
    redis = await startRedis(redisProgram.path ?? '')
    client = await connectTo(redis.url)
  })
  afterAll(async () => {
    client.destroy()
    await redis.kill()
  })
  return {
    get url() {
      return redis.url
    },
    get port() {
      return redis.port
    },
    get client() {
      return client
    },
  }
}
