import { expect, onTestFinished, test } from 'vitest'
import { needProgram } from '../../../helpers/program.ts'
import { startRedis } from '../../../helpers/redis.ts'
import { slowLink } from '../../../helpers/slow-link.ts'
import { openSharedStage, postAndAskElsewhere } from '../../../wire/cache-shared-post.ts'

const program = await needProgram('redis-server')

test.skipIf(program.missing).each([
  [0, 1],
  [3, 1],
  [0, 2],
  [3, 2],
])(
  '200 POSTs, the first gateway %i ms from Redis, of %i workers: another never finds what they named',
  async (delayMs, workers) => {
    const redis = await startRedis(program.path ?? '')
    const link = await slowLink({ to: redis.port, delayMs })
    onTestFinished(async () => {
      await link.close()
      await redis.kill()
    })
    const stage = await openSharedStage(redis.url)
    const more = workers === 1 ? {} : { workers }
    const gateways = [await stage.boot(more, `redis://127.0.0.1:${link.port}`), await stage.boot(more)] as const

    expect(await postAndAskElsewhere(stage, gateways, 200)).toEqual({ 'version 1': 200 })
  },
  600_000,
)
