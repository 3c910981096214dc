/**
 * Prints what the layer `idempotency` costs a POST without sockets, in µs of CPU, garbage collection included:
 * `node tools/bench/idempotency-alone.ts [KEYS]`. So many keys are remembered meanwhile.
 */
import { hash, randomUUID } from 'node:crypto'
import { createClient } from '@redis/client'
import { bufferResponseBody, WholeBody } from '../../src/core/exchange/bodies/buffered-bodies.ts'
import { BytesBody } from '../../src/core/exchange/bodies/response-bodies.ts'
import type { Exchange, Handler } from '../../src/core/exchange/exchange.ts'
import { FairQuota, usualBodyBytes } from '../../src/core/lib/fair-quota.ts'
import { AbandonedAttempts, encodeKeptResponse } from '../../src/features/idempotency/claimed-attempt.ts'
import type { OperationIdempotencyConfig } from '../../src/features/idempotency/config.ts'
import { idempotencyLayer } from '../../src/features/idempotency/idempotency.ts'
import type { IdempotencyStore } from '../../src/features/idempotency/store/idempotency-store.ts'
import { MemoryIdempotencyStore } from '../../src/features/idempotency/store/memory-idempotency-store.ts'
import { RedisIdempotencyStore } from '../../src/features/idempotency/store/redis-idempotency-store.ts'
import { createResponseSealer } from '../../src/features/idempotency/store/response-sealer.ts'
import { ManagedRedis } from '../../src/features/redis/managed-redis.ts'
import { connectRedis } from '../../src/features/redis/redis-connection.ts'
import { redisSettings } from '../../test/features/redis/redis-settings.ts'
import { fakeExchange } from '../../test/helpers/exchange.ts'
import { program as findProgram } from '../../test/helpers/program.ts'
import { startRedis } from '../../test/helpers/redis.ts'
import { smallBody, smallResponse } from './payloads.ts'
import { median } from './stats.ts'

const [keys = 200_000] = process.argv.slice(2).map(Number)
const [rounds, lanes] = [10, 64]
const perRound = Math.ceil(keys / rounds)

const rules: OperationIdempotencyConfig = {
  ...{ header: 'idempotency-key', required: false, ttl: 86_400_000, maxKey: 255 },
  ...{ maxBody: 65_536, maxResponse: 65_536, wait: 0, onUnknown: 'reject', onStoreFailure: 'reject' },
}

const serveWith = (store: IdempotencyStore): Handler =>
  idempotencyLayer(rules, {
    store,
    rooms: { requests: new FairQuota(usualBodyBytes), responses: new FairQuota(usualBodyBytes) },
    abandoned: new AbandonedAttempts(),
    credentialFields: ['authorization', 'cookie'],
    maxKeysPerClient: 1e7,
    maxClaimMs: null,
  })(upstream)

/** Reads the request as sending does, and responds in another turn of the event loop. */
const upstream: Handler = async (exchange) => {
  const chunks = await exchange.body.read()
  await new Promise(setImmediate)
  const body = new BytesBody(Buffer.from(smallResponse))
  const fields = ['Content-Type', 'application/json', 'Content-Length', `${smallResponse.length}`, 'Server', 'bench']
  return { status: chunks.length > 0 ? 200 : 400, reason: 'OK', fields, body }
}

const claimed = { state: 'claimed' } as const
const forgetful = { call: async ({ type }) => (type === 'claim' ? claimed : true) } as IdempotencyStore

const memory = new MemoryIdempotencyStore({ maxEntries: 1e7, maxBytes: 1024 ** 3 })

/** What the least layer asks of where it keeps things. */
interface LeastStore {
  claim(name: string, fingerprint: string): unknown
  settle(name: string, fingerprint: string, response: Buffer): unknown
}

/** The least that a layer can do: two digests, the whole response, and two calls of its store. */
const serveLeast = ({ claim, settle }: LeastStore): Handler => {
  const room = new FairQuota(usualBodyBytes).shareOf('bench')
  return async (exchange) => {
    const [body = Buffer.alloc(0)] = await exchange.body.read()
    const name = hash('sha256', String(exchange.fields[7]), 'base64url')
    const fingerprint = hash('sha256', body, 'base64url')
    await claim(name, fingerprint)
    const { status, reason, fields, body: result } = await upstream(exchange)
    const { whole, body: own } = await bufferResponseBody(result, exchange, rules.maxResponse, room)
    if (whole === null) throw new Error('it is too long')
    await settle(name, fingerprint, encodeKeptResponse({ status, reason, fields }, whole))
    return { status, reason, fields, body: own }
  }
}

/** A map, which copies what it keeps. */
const leastMemory = (): LeastStore => {
  const kept = new Map<string, Buffer>()
  return {
    claim(name) {
      if (kept.has(name)) throw new Error('it came before')
    },
    settle: (name, fingerprint, response) => kept.set(name, Buffer.concat([Buffer.from(fingerprint), response])),
  }
}

const program = await findProgram('redis-server')
const redis = program.path === null ? null : await startRedis(program.path)

/** Two bare commands, the second with the encrypted response. */
const leastRedis = async (url: string): Promise<LeastStore> => {
  const client = await createClient({ url, RESP: 2 }).connect()
  const sealer = createResponseSealer([Buffer.alloc(32, 1)])
  return {
    claim: (name, fingerprint) => client.set(name, fingerprint, { NX: true, PX: 86_400_000 }),
    settle: (name, fingerprint, response) =>
      client.set(name, sealer.seal(response, name + fingerprint), { PX: 86_400_000 }),
  }
}

/** What Redis costs by itself: two commands for a request, each with its reply. */
const twoCommands = async (url: string): Promise<Handler> => {
  const client = await createClient({ url, RESP: 2 }).connect()
  return async (exchange) => {
    const key = randomUUID()
    await client.set(key, 'p', { NX: true, PX: 86_400_000 })
    const response = await upstream(exchange)
    await client.set(key, smallResponse, { PX: 86_400_000 })
    return response
  }
}

const openRedisStore = async (url: string): Promise<IdempotencyStore> => {
  const connected = Promise.withResolvers<void>()
  const link = new ManagedRedis({
    connect: connectRedis(redisSettings({ url })),
    timeoutMs: 30_000,
    onChange: (isShared) => isShared && connected.resolve(),
  })
  await connected.promise
  const sealer = createResponseSealer([Buffer.alloc(32, 1)])
  return new RedisIdempotencyStore({ link, prefix: 'bench', sealer, counts: { rejected: 0 }, logEvent: () => {} })
}

const levels: Readonly<Record<string, Handler>> = {
  nothing: upstream,
  'the layer alone': serveWith(forgetful),
  'the least memory': serveLeast(leastMemory()),
  'with its memory': serveWith(memory),
  ...(redis !== null && {
    'two bare commands': await twoCommands(redis.url),
    'the least Redis': serveLeast(await leastRedis(redis.url)),
    'with Redis': serveWith(await openRedisStore(redis.url)),
  }),
}

const makePost = (): Exchange =>
  fakeExchange({
    requestId: randomUUID(),
    operation: 'valuation.score',
    fields: [
      ...['Content-Type', 'application/json', 'Accept', 'application/json', 'User-Agent', 'lender/1.0'],
      ...['Idempotency-Key', randomUUID()],
    ],
    body: new WholeBody(Buffer.from(smallBody)),
  })

/** Has a handler serve POSTs, and returns the CPU time of each in µs. */
const measure = async (serve: Handler): Promise<number> => {
  const before = process.cpuUsage()
  let next = 0
  const lane = async (): Promise<void> => {
    while (next++ < perRound) {
      const exchange = makePost()
      const { status, body } = await serve(exchange)
      if (status !== 200 || body.takeBuffered() === null) throw new Error(`it responded with ${status}`)
      exchange.bodySent = true
      exchange.finish()
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / perRound
}

const samples = Object.keys(levels).map(() => [] as number[])
for (let round = 0; round <= rounds; round++)
  for (const [nth, serve] of Object.values(levels).entries()) {
    const cpuUs = await measure(serve)
    if (round > 0) samples[nth]?.push(cpuUs) // the first is the compilers'
  }

const { rss, heapUsed, external } = process.memoryUsage()
const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`
console.log(
  `${memory.state().entries} keys; ${mebibytes(rss)}, of it heap ${mebibytes(heapUsed)} and ${mebibytes(external)} outside`,
)
const nothing = samples[0] ?? []
for (const [nth, name] of Object.keys(levels).entries()) {
  const own = samples[nth] ?? []
  const more = own.map((cpuUs, round) => cpuUs - (nothing[round] ?? 0)).toSorted((a, b) => a - b)
  const spread = `${more[0]?.toFixed(1)} to ${more.at(-1)?.toFixed(1)}`
  console.log(
    `${name.padEnd(18)} ${median(own).toFixed(1).padStart(6)} µs, ${median(more).toFixed(1)} more (${spread})`,
  )
}

void redis?.kill()
process.exit() // before the connections are opened again
