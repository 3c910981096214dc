/** Servers outside, tried by a process that stands still: it says nothing of them. */
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../../../src/core/config/config.ts'
import { NoResponseError, tryOutside } from '../../../../src/core/lib/try.ts'
import { checkAll, toPreflightTarget } from '../../../../src/core/upstream/health/preflight.ts'
import { tryJwks } from '../../../../src/features/auth/tokens/preflight.ts'
import { checkRedis } from '../../../../src/features/redis/check-redis.ts'
import { operatorKey } from '../../../helpers/operator-jwts.ts'
import { scriptedRedis } from '../../../helpers/scripted-redis.ts'
import { slowLink } from '../../../helpers/slow-link.ts'
import { jwks } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'
import { redisSettings } from '../../redis/redis-settings.ts'

// What loads libraries stands still for other reasons.
beforeAll(async () => void (await Promise.all([import('@redis/client'), import('undici')])))

const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

const locate = (key: string) => ({ file: 'gateway.yaml', line: 1, column: 1, path: key })

/** Starts a server whose first request has this process stand still; returns its origin. */
const slowAtFirst = async (): Promise<string> => {
  let isFirst = true
  const { url } = await httpUpstream((_, response) => {
    if (isFirst) standStill(400)
    isFirst = false
    setTimeout(() => response.end(jwks(operatorKey)), 30)
  })
  return url
}

test('the keys of an issuer are there, though the process stands still while they are fetched', async () => {
  const jwt = { jwks: { url: `${await slowAtFirst()}/` }, algorithms: ['RS256', 'ES256', 'EdDSA'] }

  expect(await tryJwks('auth.jwt', jwt as unknown as Parameters<typeof tryJwks>[1], { waitMs: 300 })).toBe(null)
})

test('a Redis can be used, though the process stands still while it connects and writes', async () => {
  const seen = new Set<string | undefined>()
  const redis = await scriptedRedis(([name]) => {
    if (!seen.has(name)) standStill(700)
    seen.add(name)
    return undefined
  })
  const link = await slowLink({ to: redis.port, delayMs: 15 })
  onTestFinished(() => link.close())
  const limits = { redis: redisSettings({ url: `redis://127.0.0.1:${link.port}` }) }
  const config = { limits, cache: { redis: null }, idempotency: { redis: null } } as unknown as Config

  expect(await checkRedis(config, locate)).toEqual([])
  expect(seen).toContain('EVALSHA')
})

test('an endpoint is healthy, though the process stands still while its health check is on its way', async () => {
  const healthCheck = { path: '/', interval: 1000, timeout: 100, expect: { from: 200, to: 299 } }
  const upstream = { ...upstreamConfig([await slowAtFirst()]), healthCheck } as ReturnType<typeof upstreamConfig>
  const [endpoint] = upstream.endpoints
  if (endpoint === undefined) throw new Error('there is no endpoint')

  const checked = await checkAll([toPreflightTarget({ group: 'risk', side: 'primary', endpoint, upstream }, 'health')])

  expect(checked).toMatchObject([{ reason: null }])
})

test('a process that stands still all the time gives up after four tries, with the error of the last', async () => {
  let tries = 0
  const failing = tryOutside(
    async () => {
      standStill(50)
      throw new Error(`try ${++tries}`)
    },
    { waitMs: 2000 },
  )

  await expect(failing).rejects.toThrow('try 4')
})

test('a try that is over is told so, and what it says later has no effect', async () => {
  let over = 0
  const attempt = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => {
        over++
        reject(new Error('aborted'))
      })
    })

  await expect(tryOutside(attempt, { waitMs: 60, repeatsSilent: true })).rejects.toEqual(new NoResponseError(60))
  expect(over).toBeGreaterThanOrEqual(2)
})
