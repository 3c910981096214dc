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
        counts: { rejected: 0 },
        logEvent: () => {},
      }),
  }),
}

const response = Buffer.from('the response '.repeat(100))
const done = { state: 'done', fingerprint: 'f-1', response } as const
const unknown = { state: 'unknown', fingerprint: 'f-1' } as const
const free = { state: 'free' } as const
const claimed = { state: 'claimed' }

const often = { interval: 5, timeout: 30_000 }

describe.each(Object.entries(stores))('a store in %s', (_, open) => {
  /** Opens a store, and makes a claim in it. */
  const use = async (more: Partial<Claim> = {}) => {
    const store = await open()
    const first = createClaim(more)
    const used = {
      claim: (claim: Claim) => store.call({ type: 'claim', claim }),
      settle: (claim: Claim, settlement: Settlement) => store.call({ type: 'settle', claim, settlement }),
      renew: (claim: Claim) => store.call({ type: 'renew', claim }),
      find: (key: Claim) => store.call({ type: 'find', key }),
      forget: (key: Claim) => store.call({ type: 'forget', key }),
    }
    expect(await used.claim(first)).toEqual(claimed)
    return {
      ...used,
      first,
      /** Claims the key of the first once more. */
      repeat: (again: Partial<Claim> = {}) => used.claim(repeatClaim(first, again)),
      /** Waits until the attempt of a claim has lapsed. */
      lapsed: (claim: Claim) => expect.poll(() => used.find(claim), often).toMatchObject({ state: 'unknown' }),
      /** What a repetition is told of the first, if it is in this state. */
      known: (state: string) => ({ state, requestId: first.requestId, fingerprint: 'f-1' }),
    }
  }

  test('lets one attempt be made for a key', async () => {
    const { claim, repeat, known } = await use()

    expect([await repeat(), await claim(createClaim())]).toEqual([known('in-progress'), claimed])
  })

  test('returns the response of what is done, byte for byte, also to another request', async () => {
    const { first, settle, repeat, known } = await use()

    expect(await settle(first, done)).toBe(true)

    expect(await repeat({ fingerprint: 'f-2' })).toEqual({ ...known('done'), response })
  })

  test('remembers what is done without its response', async () => {
    const { first, settle, repeat, known } = await use({ fingerprint: null })

    await settle(first, { state: 'done', fingerprint: null, response: null })

    expect(await repeat()).toEqual({ ...known('done'), fingerprint: null, response: null })
  })

  test('learns the fingerprint of a streamed request when it is settled', async () => {
    const { first, settle, repeat, known } = await use({ fingerprint: null })

    await settle(first, { state: 'unknown', fingerprint: 'f-9' })

    expect(await repeat()).toEqual({ ...known('unknown'), fingerprint: 'f-9' })
  })

  test('frees a key that led to nothing, and the room that it took', async () => {
    const { first, settle, repeat } = await use({ maxKeys: 1 })

    expect(await settle(first, free)).toBe(true)

    expect(await repeat({ fingerprint: 'f-2' })).toEqual(claimed)
  })

  test('settles and renews an attempt by its token alone', async () => {
    const { first, settle, renew, repeat } = await use()
    const other = repeatClaim(first)

    expect([await renew(other), await settle(other, done), await settle(other, free)]).toEqual([false, false, false])
    expect(await renew(first)).toBe(true)
    expect(await repeat()).toMatchObject({ state: 'in-progress' })
  })

  test('settles an attempt once', async () => {
    const { first, settle, renew } = await use()

    await settle(first, unknown)

    expect([await settle(first, done), await settle(first, free), await renew(first)]).toEqual([false, false, false])
  })

  test('takes an attempt that was not renewed for one of unknown outcome, which its gateway cannot settle', async () => {
    const { first, settle, renew, repeat, lapsed, known } = await use({ leaseMs: 20 })

    await lapsed(first)

    expect(await repeat()).toEqual(known('unknown'))
    expect([await renew(first), await settle(first, done)]).toEqual([false, false])
  })

  test('keeps what has lapsed for as long as what was settled', async () => {
    const at = performance.now()
    const { first, find } = await use({ leaseMs: 20, ttlMs: 500 })

    await expect.poll(() => find(first), often).toBe(false)

    expect(performance.now() - at).toBeGreaterThanOrEqual(500)
  })

  test('is renewed beyond the time that a record is kept', async () => {
    const { first, renew, settle } = await use({ ttlMs: 40, leaseMs: 60_000 })

    await new Promise((resolve) => setTimeout(resolve, 100))

    expect([await renew(first), await settle(first, free)]).toEqual([true, true])
  })

  test('forgets what is settled when its time is over', async () => {
    const { first, settle, find, repeat } = await use({ ttlMs: 50 })

    await settle(first, done)
    await expect.poll(() => find(first), often).toBe(false)

    expect(await repeat()).toEqual(claimed)
  })

  test('lets an unknown outcome be found out by the same request alone, and where that is allowed', async () => {
    const { first, claim, settle, renew, repeat, known } = await use()
    const again = repeatClaim(first, { takesOver: true })

    expect(await claim(again)).toEqual(known('in-progress'))
    await settle(first, unknown)

    expect(await repeat()).toEqual(known('unknown'))
    expect(await repeat({ takesOver: true, fingerprint: 'f-2' })).toEqual(known('unknown'))
    expect(await claim(again)).toEqual(claimed)
    expect([await renew(first), await renew(again)]).toEqual([false, true])
  })

  test('lets it be found out by a request whose body streams, which may be the same', async () => {
    const { first, settle, repeat, known } = await use()

    await settle(first, unknown)

    expect(await repeat({ fingerprint: null })).toEqual(known('unknown'))
    expect(await repeat({ fingerprint: null, takesOver: true })).toEqual(claimed)
    expect(await repeat()).toMatchObject({ state: 'in-progress', fingerprint: 'f-1' })
  })

  test('has an unknown outcome again when the attempt that was to find it out was not made', async () => {
    const { first, claim, settle, repeat, known } = await use()
    const again = repeatClaim(first, { takesOver: true })

    await settle(first, unknown)
    await claim(again)
    expect(await settle(again, free)).toBe(true)

    expect(await repeat()).toEqual(known('unknown'))
    expect(await repeat({ takesOver: true, fingerprint: 'f-2' })).toEqual(known('unknown'))
    expect(await repeat({ takesOver: true })).toEqual(claimed)
  })

  test('names the first request, and its time, after another has found its outcome out', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] }) // Redis has a clock of its own
    onTestFinished(() => void vi.useRealTimers())
    const { first, claim, settle, find, repeat } = await use()
    const again = repeatClaim(first, { takesOver: true })
    const claimedAtOf = async (key: Claim): Promise<number> => ((await find(key)) || { claimedAt: 0 }).claimedAt
    const claimedAt = await claimedAtOf(first)
    await settle(first, unknown)
    await vi.waitFor(async () => {
      const later = createClaim()
      await claim(later)
      expect(await claimedAtOf(later)).toBeGreaterThan(claimedAt)
    }, 30_000)
    await claim(again)
    await settle(again, done)

    expect(await repeat()).toMatchObject({ state: 'done', requestId: first.requestId, response })
    expect(await claimedAtOf(first)).toBe(claimedAt)
  })

  test('has room for so many keys of one client, and tells of those that it has', async () => {
    const { first, claim, repeat } = await use({ maxKeys: 2 })
    const own = { client: first.client, maxKeys: 2 }

    expect(await claim(createClaim(own))).toEqual(claimed)

    expect(await claim(createClaim(own))).toEqual({ state: 'full', of: 'client' })
    expect(await repeat()).toMatchObject({ state: 'in-progress' })
    expect(await claim(createClaim({ maxKeys: 2 }))).toEqual(claimed)
  })

  test('finds a record for an operator, and forgets it', async () => {
    const { first, settle, find, forget, repeat } = await use()
    const { requestId } = first

    const [none, before] = [await find(createClaim()), await find(first)]
    await settle(first, done)
    const after = (await find(first)) || null

    expect(none).toBe(false)
    expect(before).toMatchObject({ state: 'in-progress', requestId, responseBytes: null })
    expect(after).toMatchObject({ state: 'done', requestId, responseBytes: expect.any(Number) })
    expect(Math.abs((after?.claimedAt ?? 0) - Date.now())).toBeLessThan(60_000)
    expect(Math.abs((after?.expiresAt ?? 0) - Date.now() - first.ttlMs)).toBeLessThan(60_000)
    expect([await forget(first), await forget(first), await repeat()]).toEqual([true, false, claimed])
  })

  test('forgets no attempt that is under way, and one that has lapsed', async () => {
    const { first: running, claim, renew, find, forget, lapsed } = await use()
    const lost = createClaim({ leaseMs: 50 })
    await claim(lost)
    await lapsed(lost)

    expect([await forget(running), await forget(lost)]).toEqual(['in-progress', true])
    expect([await renew(running), await find(lost)]).toEqual([true, false])
  })
})
