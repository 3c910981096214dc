/** Two gateways of two workers each, which share a Redis: how much goes to a candidate. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { needProgram } from '../../helpers/program.ts'
import { startRedis } from '../../helpers/redis.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { startWorkerGateway } from '../../helpers/worker-gateway.ts'

const program = await needProgram('redis-server')

// once-under-fire.drill.ts has what they remember of keys.
describe.skipIf(program.missing)('two gateways of two workers', () => {
  test('have one shift: what one is told holds in all workers of the other, and when that is started again', async () => {
    const redis = await startRedis(program.path ?? '')
    onTestFinished(() => redis.kill())
    const [primary, candidate] = [
      await httpUpstream((_, response) => void response.end('primary')),
      await httpUpstream((_, response) => void response.end('candidate')),
    ]
    const start = async () => {
      const gateway = await startWorkerGateway({
        upstreams: { market: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], share: '100%' } } },
        limits: { redis: { url: redis.url, timeout: '1s' } },
      })
      onTestFinished(() => gateway.stop())
      return gateway
    }
    const [told, other] = [await start(), await start()]
    const askMany = async ({ port }: { readonly port: number }) => {
      const responses = Array.from({ length: 10 }, async () => {
        const response = await fetch(`http://127.0.0.1:${port}/market/insights`, { headers: { Connection: 'close' } })
        return response.text()
      })
      return [...new Set(await Promise.all(responses))]
    }
    // Until Redis has replied, a gateway that starts holds its candidate.
    for (const each of [told, other]) await expect.poll(() => askMany(each)).toEqual(['candidate'])

    await told.ask('POST', '/shift', JSON.stringify({ group: 'market', abort: true, reason: 'CHG-4711' }))
    await expect.poll(() => askMany(other)).toEqual(['primary'])
    const again = await start()

    expect([await askMany(told), await askMany(again)]).toEqual([['primary'], ['primary']])
  })
})
