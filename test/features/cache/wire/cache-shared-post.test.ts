/** What the response to a POST promises of a Redis in which several gateways store. */
import { beforeEach, describe, expect, onTestFinished } from 'vitest'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { slowLink } from '../../../helpers/slow-link.ts'
import { part, test, testAndDrill } from '../../../helpers/speed.ts'
import { openSharedStage, postAndAskElsewhere } from '../../../wire/cache-shared-post.ts'

const program = await needProgram('redis-server')

describe.skipIf(program.missing)('with a Redis that gateways share', () => {
  let redis: Redis

  beforeEach(async () => {
    redis = await startRedis(program.path ?? '')
    return () => {
      redis.thaw()
      return redis.kill()
    }
  })

  testAndDrill.each(
    part([
      ['', {}, 20],
      [', whichever of several workers had the POST', { workers: 2 }, 10],
    ]),
  )('after the response to a POST, another gateway does not find what it named%s', async (_, more, repetitions) => {
    // Redis hears of the POST long after the upstream's response has come.
    const link = await slowLink({ to: redis.port, delayMs: 10 })
    onTestFinished(() => link.close())
    const stage = await openSharedStage(redis.url)
    const gateways = [await stage.boot(more, `redis://127.0.0.1:${link.port}`), await stage.boot()] as const

    expect(await postAndAskElsewhere(stage, gateways, repetitions)).toEqual({ 'version 1': repetitions })
  })

  test('frozen, it holds no response to a POST for longer than the time-out, and soon none at all', async () => {
    const stage = await openSharedStage(redis.url, '20ms')
    const gateway = await stage.boot()
    redis.freeze()

    const statuses: (number | undefined)[] = []
    for (let n = 0; n < 6; n++) statuses.push((await stage.ask(gateway, 'POST', `/valuation/score?n=${n}`)).status)

    expect(statuses).toEqual([201, 201, 201, 201, 201, 201])
    expect(await gateway.line(({ msg }) => msg === 'cache is not shared')).toMatchObject({
      reason: 'no answer within 20ms (cache.redis.timeout)',
    })
  })

  test('back again, it is told what a POST removed meanwhile, though the gateway looks nothing up', async () => {
    const stage = await openSharedStage(redis.url, '200ms')
    const gateway = await stage.boot()
    await stage.ask(gateway, 'GET', '/market/insights?a=1')
    await stage.written(1)
    const [[key = '', before] = []] = Object.entries(await stage.generations())
    redis.freeze()
    await Promise.all([1, 2, 3, 4, 5].map((n) => stage.ask(gateway, 'POST', `/valuation/score?n=${n}`)))
    await gateway.line(({ msg }) => msg === 'cache is not shared')

    await stage.ask(gateway, 'POST', '/valuation/score?a=1')
    redis.thaw()

    await expect.poll(async () => (await stage.generations())[key]).not.toBe(before)
  })

  test('gone, it is not waited for', async () => {
    const stage = await openSharedStage(redis.url)
    const gateway = await stage.boot()
    await redis.kill()
    await gateway.line(({ msg }) => msg === 'cache is not shared')

    expect(await stage.ask(gateway, 'POST', '/valuation/score?a=1')).toMatchObject({ status: 201 })
  })
})
