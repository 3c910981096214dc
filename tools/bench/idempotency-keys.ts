/**
 * Measures what many idempotency keys take in Redis, and how long a lookup takes among them:
 * `node tools/bench/idempotency-keys.ts [KEYS] [BYTES OF A RESPONSE]`.
 */
import { createClient } from '@redis/client'
import { RedisIdempotencyStore } from '../../src/features/idempotency/store/redis-idempotency-store.ts'
import { createResponseSealer } from '../../src/features/idempotency/store/response-sealer.ts'
import { ManagedRedis } from '../../src/features/redis/managed-redis.ts'
import { connectRedis } from '../../src/features/redis/redis-connection.ts'
import { createClaim, repeatClaim } from '../../test/features/idempotency/idempotency-claim.ts'
import { redisSettings } from '../../test/features/redis/redis-settings.ts'
import { program as findProgram } from '../../test/helpers/program.ts'
import { startRedis } from '../../test/helpers/redis.ts'
import { quantile } from './stats.ts'

const [keys = 1_000_000, bytes = 1000] = process.argv.slice(2).map(Number)
const [clients, lanes, lookups, sampled] = [1000, 64, 20_000, 1000]

const program = await findProgram('redis-server')
if (program.missing !== null) throw new Error(program.missing)
const redis = await startRedis(program.path)
const admin = await createClient({ url: redis.url, RESP: 2 }).connect()
const { promise: isShared, resolve } = Promise.withResolvers<void>()
const link = new ManagedRedis({
  connect: connectRedis(redisSettings({ url: redis.url, prefix: 'lender-gateway' })),
  timeoutMs: 5000,
  onChange: (shared) => shared && resolve(),
})
await isShared
const store = new RedisIdempotencyStore({
  link,
  prefix: 'lender-gateway',
  sealer: createResponseSealer([Buffer.alloc(32, 1)]),
  counts: { rejected: 0 },
  logEvent: console.info,
})

const usedMemory = async (): Promise<number> =>
  Number(/^used_memory:(\d+)/m.exec(String(await admin.sendCommand(['INFO', 'memory'])))?.[1])

// As random as JSON is: two thirds of it go when it is compressed.
const response = (): Buffer => {
  let text = ''
  while (text.length < bytes)
    text += JSON.stringify({ id: Math.random().toString(36), amount: 1000, state: 'approved' })
  return Buffer.from(text.slice(0, bytes))
}

const owners = Array.from({ length: clients }, () => createClaim().client)
const claims: ReturnType<typeof createClaim>[] = []
const before = await usedMemory()
let next = 0
await Promise.all(
  Array.from({ length: lanes }, async () => {
    while (next < keys) {
      const claim = createClaim({
        client: owners[next++ % clients] ?? '',
        token: crypto.randomUUID(),
        requestId: crypto.randomUUID(),
        fingerprint: createClaim().name,
        ttlMs: 86_400_000,
        maxKeys: 100_000,
      })
      const claimed = await store.call({ type: 'claim', claim })
      const settlement = { state: 'done', fingerprint: claim.fingerprint, response: response() } as const
      const settled = await store.call({ type: 'settle', claim, settlement })
      if (claimed?.state !== 'claimed' || settled !== true) throw new Error('Redis did not keep up')
      if (claims.length < sampled || Math.random() < lookups / keys) claims.push(claim)
    }
  }),
)
const perKey = ((await usedMemory()) - before) / keys

const timesMs: number[] = []
for (let nth = 0; nth < lookups; nth++) {
  const claim = claims[Math.floor(Math.random() * claims.length)]
  if (claim === undefined) break
  const from = performance.now()
  const found = await store.call({ type: 'claim', claim: repeatClaim(claim) })
  timesMs.push(performance.now() - from)
  if (found?.state !== 'done') throw new Error(`it found ${found?.state}`)
}
timesMs.sort((a, b) => a - b)
console.log(`${keys} keys of ${clients} clients, each with a response of ${bytes} bytes`)
console.log(`memory for each: ${Math.round(perKey)} bytes`)
console.log(
  `a lookup, one after the other: p50 ${quantile(timesMs, 0.5).toFixed(2)} ms, p99 ${quantile(timesMs, 0.99).toFixed(2)} ms`,
)
link.close()
admin.destroy()
await redis.kill()
