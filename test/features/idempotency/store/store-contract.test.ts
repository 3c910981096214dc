/** What every store of idempotency keys keeps to: in memory, over the primary, in Redis. */
import { deserialize, serialize } from 'node:v8'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { remoteIdempotencyStore } from '../../../../src/features/idempotency/idempotency-registry.ts'
import type {
  Claim,
  IdempotencyStore,
  Settlement,
} from '../../../../src/features/idempotency/store/idempotency-store.ts'
import { MemoryIdempotencyStore } from '../../../../src/features/idempotency/store/memory-idempotency-store.ts'
import { RedisIdempotencyStore } from '../../../../src/features/idempotency/store/redis-idempotency-store.ts'
import { createResponseSealer } from '../../../../src/features/idempotency/store/response-sealer.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { openLink } from '../../redis/redis-link.ts'
import { createClaim, repeatClaim } from '../idempotency-claim.ts'

const program = await needProgram('redis-server')

let redis: Redis | null = null
beforeAll(async () => {
  if (program.path !== null) redis = await startRedis(program.path)
})
afterAll(() => redis?.kill())

const memoryStore = (): MemoryIdempotencyStore => new MemoryIdempotencyStore({ maxEntries: 1e6, maxBytes: 1e9 })

// As workers and the primary talk to each other.
const overTheWire = <T>(value: T): T => deserialize(serialize(value))

const stores: Readonly<Record<string, () => Promise<IdempotencyStore>>> = {
  memory: async () => memoryStore(),
  'the primary': async () => {
    const memory = memoryStore()
    return remoteIdempotencyStore(async (calls) => overTheWire(calls).map((call) => memory.reply(call)))
  },
  ...(program.path !== null && {
    Redis: async () =>
      new RedisIdempotencyStore({
        link: await openLink(redis?.url ?? ''),
        prefix: 'test',
        sealer: createResponseSealer([Buffer.alloc(32, 1)]),
        counts: { refused: 0 },
        logEvent: () => {},
      }),
  }),
}

const response = Buffer.from('the response '.repeat(100))

describe.each(Object.entries(stores))('a store in %s', (_, open) => {
  const use = async () => {
    const store = await open()
    return {
      claim: (claim: Claim) => store.call({ type: 'claim', claim }),
      settle: (claim: Claim, settlement: Settlement) => store.call({ type: 'settle', claim, settlement }),
      renew: (claim: Claim) => store.call({ type: 'renew', claim }),
      find: (key: Claim) => store.call({ type: 'find', key }),
      forget: (key: Claim) => store.call({ type: 'forget', key }),
    }
  }

  /** Waits until the attempt of a claim has lapsed. */
  const lapsed = (find: (key: Claim) => Promise<unknown>, claim: Claim): Promise<void> =>
    vi.waitFor(async () => expect(await find(claim)).toMatchObject({ state: 'unknown' }), 30_000)

  test('lets one attempt be made for a key', async () => {
    const { claim } = await use()
    const first = createClaim()

    expect(await claim(first)).toEqual({ state: 'claimed' })
    expect(await claim(repeatClaim(first))).toEqual({
      state: 'in-progress',
      requestId: first.requestId,
      fingerprint: 'f-1',
    })
    expect(await claim(createClaim())).toEqual({ state: 'claimed' })
  })

  test('returns the response of what is done, byte for byte', async () => {
    const { claim, settle } = await use()
    const first = createClaim()

    await claim(first)
    expect(await settle(first, { state: 'done', fingerprint: 'f-1', response })).toBe(true)
    const second = await claim(repeatClaim(first, { fingerprint: 'f-2' }))

    expect(second).toEqual({ state: 'done', requestId: first.requestId, fingerprint: 'f-1', response })
  })

  test('remembers what is done without its response', async () => {
    const { claim, settle } = await use()
    const first = createClaim({ fingerprint: null })

    await claim(first)
    await settle(first, { state: 'done', fingerprint: null, response: null })

    const known = { requestId: first.requestId, fingerprint: null }
    expect(await claim(repeatClaim(first))).toEqual({ state: 'done', ...known, response: null })
  })

  test('learns the fingerprint of a streamed request when it is settled', async () => {
    const { claim, settle } = await use()
    const first = createClaim({ fingerprint: null })

    await claim(first)
    await settle(first, { state: 'unknown', fingerprint: 'f-9' })

    const known = { requestId: first.requestId, fingerprint: 'f-9' }
    expect(await claim(repeatClaim(first))).toEqual({ state: 'unknown', ...known })
  })

  test('frees a key that led to nothing, and the room that it took', async () => {
    const { claim, settle } = await use()
    const first = createClaim({ maxKeys: 1 })

    await claim(first)
    expect(await settle(first, { state: 'free' })).toBe(true)

    expect(await claim(repeatClaim(first, { fingerprint: 'f-2' }))).toEqual({ state: 'claimed' })
  })

  test('settles and renews an attempt by its token alone', async () => {
    const { claim, settle, renew } = await use()
    const first = createClaim()
    const other = repeatClaim(first)

    await claim(first)

    expect(await renew(other)).toBe(false)
    expect(await settle(other, { state: 'done', fingerprint: 'f-1', response })).toBe(false)
    expect(await settle(other, { state: 'free' })).toBe(false)
    expect(await renew(first)).toBe(true)
    expect((await claim(repeatClaim(first)))?.state).toBe('in-progress')
  })

  test('settles an attempt once', async () => {
    const { claim, settle, renew } = await use()
    const first = createClaim()

    await claim(first)
    await settle(first, { state: 'unknown', fingerprint: 'f-1' })

    expect(await settle(first, { state: 'done', fingerprint: 'f-1', response })).toBe(false)
    expect(await settle(first, { state: 'free' })).toBe(false)
    expect(await renew(first)).toBe(false)
  })

  test('takes an attempt that was not renewed for one of unknown outcome, which its gateway cannot settle', async () => {
    const { claim, settle, renew, find } = await use()
    const first = createClaim({ leaseMs: 20 })

    await claim(first)
    await lapsed(find, first)

    const known = { requestId: first.requestId, fingerprint: 'f-1' }
    expect(await claim(repeatClaim(first))).toEqual({ state: 'unknown', ...known })
    expect(await renew(first)).toBe(false)
    expect(await settle(first, { state: 'done', fingerprint: 'f-1', response })).toBe(false)
  })

  test('keeps what has lapsed for as long as what was settled', async () => {
    const { claim, find } = await use()
    const first = createClaim({ leaseMs: 20, ttlMs: 2000 })

    const at = performance.now()
    await claim(first)
    await lapsed(find, first)

    await vi.waitFor(async () => expect(await find(first)).toBe(false), 30_000)
    expect(performance.now() - at).toBeGreaterThanOrEqual(2000)
  })

  test('is renewed beyond the time that a record is kept', async () => {
    const { claim, renew, settle } = await use()
    const first = createClaim({ ttlMs: 40, leaseMs: 60_000 })

    await claim(first)
    await new Promise((resolve) => setTimeout(resolve, 100))

    expect(await renew(first)).toBe(true)
    expect(await settle(first, { state: 'free' })).toBe(true)
  })

  test('forgets what is settled when its time is over', async () => {
    const { claim, settle, find } = await use()
    const first = createClaim({ ttlMs: 50 })

    await claim(first)
    await settle(first, { state: 'done', fingerprint: 'f-1', response })
    await vi.waitFor(async () => expect(await find(first)).toBe(false), 30_000)

    expect(await claim(repeatClaim(first))).toEqual({ state: 'claimed' })
  })

  test('lets an unknown outcome be found out by the same request alone, and where that is allowed', async () => {
    const { claim, settle, renew } = await use()
    const first = createClaim()
    const again = repeatClaim(first, { takesOver: true })

    await claim(first)
    expect((await claim(again))?.state).toBe('in-progress')
    await settle(first, { state: 'unknown', fingerprint: 'f-1' })

    expect((await claim(repeatClaim(first)))?.state).toBe('unknown')
    expect((await claim(repeatClaim(first, { takesOver: true, fingerprint: 'f-2' })))?.state).toBe('unknown')
    expect(await claim(again)).toEqual({ state: 'claimed' })
    expect(await renew(first)).toBe(false)
    expect(await renew(again)).toBe(true)
  })

  test('lets it be found out by a request whose body streams, which may be the same', async () => {
    const { claim, settle } = await use()
    const first = createClaim()
    const again = repeatClaim(first, { takesOver: true, fingerprint: null })

    await claim(first)
    await settle(first, { state: 'unknown', fingerprint: 'f-1' })

    expect((await claim(repeatClaim(first, { fingerprint: null })))?.state).toBe('unknown')
    expect(await claim(again)).toEqual({ state: 'claimed' })
    expect(await claim(repeatClaim(first))).toMatchObject({ state: 'in-progress', fingerprint: 'f-1' })
  })

  test('has an unknown outcome again when the attempt that was to find it out was not made', async () => {
    const { claim, settle } = await use()
    const first = createClaim()
    const again = repeatClaim(first, { takesOver: true })

    await claim(first)
    await settle(first, { state: 'unknown', fingerprint: 'f-1' })
    await claim(again)
    expect(await settle(again, { state: 'free' })).toBe(true)

    const known = { requestId: first.requestId, fingerprint: 'f-1' }
    expect(await claim(repeatClaim(first))).toEqual({ state: 'unknown', ...known })
    expect((await claim(repeatClaim(first, { takesOver: true, fingerprint: 'f-2' })))?.state).toBe('unknown')
    expect(await claim(repeatClaim(first, { takesOver: true }))).toEqual({ state: 'claimed' })
  })

  test('names the first request, and its time, after another has found its outcome out', async () => {
    const { claim, settle, find } = await use()
    const first = createClaim()
    const again = repeatClaim(first, { takesOver: true })

    vi.useFakeTimers({ toFake: ['Date', 'performance'] }) // Redis has a clock of its own
    onTestFinished(() => void vi.useRealTimers())
    const claimedAtOf = async (key: Claim): Promise<number> => ((await find(key)) || { claimedAt: 0 }).claimedAt
    await claim(first)
    const claimedAt = await claimedAtOf(first)
    await settle(first, { state: 'unknown', fingerprint: 'f-1' })
    await vi.waitFor(async () => {
      const later = createClaim()
      await claim(later)
      expect(await claimedAtOf(later)).toBeGreaterThan(claimedAt)
    }, 30_000)
    await claim(again)
    await settle(again, { state: 'done', fingerprint: 'f-1', response })

    expect(await claim(repeatClaim(first))).toMatchObject({ state: 'done', requestId: first.requestId, response })
    expect(await claimedAtOf(first)).toBe(claimedAt)
  })

  test('has room for so many keys of one client, and tells of those that it has', async () => {
    const { claim } = await use()
    const first = createClaim({ maxKeys: 2 })
    const { client } = first

    expect(await claim(first)).toEqual({ state: 'claimed' })
    expect(await claim(createClaim({ client, maxKeys: 2 }))).toEqual({ state: 'claimed' })

    expect(await claim(createClaim({ client, maxKeys: 2 }))).toEqual({ state: 'full', of: 'client' })
    expect((await claim(repeatClaim(first)))?.state).toBe('in-progress')
    expect(await claim(createClaim({ maxKeys: 2 }))).toEqual({ state: 'claimed' })
  })

  test('finds a record for an operator, and forgets it', async () => {
    const { claim, settle, find, forget } = await use()
    const first = createClaim()

    expect(await find(first)).toBe(false)
    await claim(first)
    const before = await find(first)
    await settle(first, { state: 'done', fingerprint: 'f-1', response })
    const after = (await find(first)) || null

    expect(before).toMatchObject({ state: 'in-progress', requestId: first.requestId, responseBytes: null })
    expect(after).toMatchObject({ state: 'done', requestId: first.requestId, responseBytes: expect.any(Number) })
    expect(Math.abs((after?.claimedAt ?? 0) - Date.now())).toBeLessThan(60_000)
    expect(Math.abs((after?.expiresAt ?? 0) - Date.now() - first.ttlMs)).toBeLessThan(60_000)
    expect(await forget(first)).toBe(true)
    expect(await forget(first)).toBe(false)
    expect(await claim(repeatClaim(first))).toEqual({ state: 'claimed' })
  })

  test('forgets no attempt that is under way, and one that has lapsed', async () => {
    const { claim, renew, find, forget } = await use()
    const running = createClaim()
    const lost = createClaim({ leaseMs: 50 })
    await claim(running)
    await claim(lost)
    await lapsed(find, lost)

    const forgotten = [await forget(running), await forget(lost)]

    expect(forgotten).toEqual(['in-progress', true])
    expect(await renew(running)).toBe(true)
    expect(await find(lost)).toBe(false)
  })
})
