import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { consumeToken } from '../../../src/core/lib/token-bucket.ts'
import { consumeScript } from '../../../src/features/redis/redis-server.ts'
import { redisForAll, redisProgram } from './redis-for-all.ts'

describe.skipIf(redisProgram.missing)('the script for Redis', () => {
  const redis = redisForAll()

  // The same script with another clock: the arguments have the time. Redis expires by its own clock, so nothing
  // expires.
  const withTime = consumeScript.text.replace("redis.call('TIME')", '{ ARGV[3], ARGV[4] }')
  const withoutExpiry = withTime.replace(/(?<='SET'.*), 'PX', .*\)$/m, ')')

  test('decides as the memory does, to the last digit', async () => {
    expect(withTime).not.toBe(consumeScript.text)
    expect(withoutExpiry).not.toContain('PX')
    const limits = fc.record({
      policy: fc.constant('any'),
      perMs: fc.oneof(fc.constant(1 / 60_000), fc.constant(7 / 1000), fc.double({ min: 1e-4, max: 10, noNaN: true })),
      burst: fc.integer({ min: 1, max: 12 }),
    })
    const pausesUs = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: -3000, max: 300_000 })), {
      minLength: 20,
      maxLength: 60,
    })
    let nth = 0
    await fc.assert(
      fc.asyncProperty(limits, pausesUs, async (limit, pauses) => {
        const key = `key ${nth++}`
        const bucket = { used: 0, at: 0 }
        let atUs = 1_700_000_000_000_000
        const results = pauses.map(async (pauseUs) => {
          atUs += pauseUs
          const [seconds, rest] = [Math.floor(atUs / 1e6), atUs % 1e6]
          const here = consumeToken(bucket, limit, seconds * 1000 + rest / 1000)
          const args = [limit.perMs, limit.burst, seconds, rest].map(String)
          return [here, Number(await redis.client.eval(withoutExpiry, { keys: [key], arguments: args }))] as const
        })
        for (const [here, there] of await Promise.all(results)) expect(there).toBe(here)
      }),
      { numRuns: 30 },
    )
  })

  test('lets Redis expire what has drained', async () => {
    await redis.client.eval(consumeScript.text, { keys: ['short'], arguments: ['10', '5'] })
    await redis.client.eval(consumeScript.text, { keys: ['long'], arguments: ['0.00001', '5'] })

    expect(await redis.client.pTTL('long')).toBeGreaterThan(50_000)
    expect(await redis.client.pTTL('short')).toBeLessThanOrEqual(1)
  })
})
