import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { claimKeyScript, renewKeyScript } from '../../../../src/features/idempotency/store/idempotency-scripts.ts'
import { RedisIdempotencyStore } from '../../../../src/features/idempotency/store/redis-idempotency-store.ts'
import { createResponseSealer } from '../../../../src/features/idempotency/store/response-sealer.ts'
import type { ManagedRedis } from '../../../../src/features/redis/managed-redis.ts'
import { redisForAll, redisProgram } from '../../redis/redis-for-all.ts'
import { openLink } from '../../redis/redis-link.ts'
import { createClaim, repeatClaim } from '../idempotency-claim.ts'

type Link = Pick<ManagedRedis, 'run' | 'isShared'>

const storeWith = (link: Link, logEvent = vi.fn(), replicated: Link | null = null) => {
  let isOver = false
  onTestFinished(() => {
    isOver = true
  })
  // Then a claim is given back at once: the store would go on for the whole of its lease, in the timers of other tests.
  const run: Link['run'] = (...args) => (isOver ? Promise.resolve(1) : link.run(...args))
  return new RedisIdempotencyStore({
    link: { isShared: link.isShared, run, failure: null },
    replicated: replicated && { ...replicated, failure: '0 of 1 replicas have the write' },
    prefix: 'test',
    sealer: createResponseSealer([Buffer.alloc(32, 1)]),
    counts: { rejected: 0 },
    logEvent,
  })
}

describe.skipIf(redisProgram.missing)('with a real Redis', () => {
  const redis = redisForAll()

  test('a claim whose reply is lost is given back, and frees no other attempt', async () => {
    const link = await openLink(redis.url)
    let lost = 0
    const store = storeWith({
      isShared: true,
      run: async (script, args) => {
        const reply = await link.run(script, args)
        return lost++ < 3 ? null : reply
      },
    })
    const claim = createClaim()

    expect(await store.call({ type: 'claim', claim })).toBe(null)
    const other = repeatClaim(claim)
    await vi.waitFor(
      async () => expect(await store.call({ type: 'claim', claim: other })).toEqual({ state: 'claimed' }),
      30_000,
    )

    expect(lost).toBeGreaterThan(3)
    expect(await store.call({ type: 'renew', claim: other })).toBe(true)
  })

  test('a claim of which Redis was not told is not given back', async () => {
    const run = vi.fn(async () => null)
    const store = storeWith({ isShared: false, run })

    expect(await store.call({ type: 'claim', claim: createClaim() })).toBe(null)

    expect(run).toHaveBeenCalledTimes(1)
  })

  describe('where replicas confirm a claim', () => {
    const settledAs = async (store: RedisIdempotencyStore, state: 'done' | 'unknown') => {
      const claim = createClaim()
      await store.call({ type: 'claim', claim })
      await store.call({
        type: 'settle',
        claim,
        settlement: { state, fingerprint: 'f-1', response: Buffer.from('kept') },
      })
      return repeatClaim(claim, { takesOver: true })
    }
    const claimOf = (store: RedisIdempotencyStore, claim = createClaim()) => store.call({ type: 'claim', claim })

    test('only what was written is confirmed, by the token that was written', async () => {
      const link = await openLink(redis.url)
      const run = vi.fn<Link['run']>((...args) => link.run(args[0], args[1]))
      const store = storeWith(link, vi.fn(), { isShared: true, run })
      const claim = createClaim()

      expect(await claimOf(store, claim)).toEqual({ state: 'claimed' })
      expect(run.mock.calls.map(([script, { args }, options]) => [script, args[0], options])).toEqual([
        [renewKeyScript, claim.token, { isReplicated: true }],
      ])
      expect(await claimOf(store, repeatClaim(claim))).toMatchObject({ state: 'in-progress' })
      expect(await claimOf(store, await settledAs(storeWith(link), 'done'))).toMatchObject({ state: 'done' })
      expect(run).toHaveBeenCalledTimes(1)
    })

    test.each([[null], [0]])(
      'a claim that is confirmed with %j is given back, and the reason is said',
      async (reply) => {
        const link = await openLink(redis.url)
        const store = storeWith(link, vi.fn(), { isShared: true, run: async () => reply })
        const claim = createClaim()

        expect(await claimOf(store, claim)).toBe(null)

        expect(store.failure).toBe('0 of 1 replicas have the write')
        await vi.waitFor(async () => expect(await store.call({ type: 'find', key: claim })).toBe(false), 30_000)
        expect(store.isIdle()).toBe(true)
      },
    )

    test('while replicas are missing, what is known is told, and nothing is written', async () => {
      const link = await openLink(redis.url)
      const run = vi.fn(async () => null)
      const store = storeWith(link, vi.fn(), { isShared: false, run })
      const [fresh, under] = [createClaim({ maxKeys: 1 }), createClaim()]
      const other = storeWith(link)
      await claimOf(other, under)
      const [done, unknown] = [await settledAs(other, 'done'), await settledAs(other, 'unknown')]
      const full = await claimOf(other, createClaim({ client: 'full', maxKeys: 1 }))

      expect(full).toEqual({ state: 'claimed' })
      expect(await claimOf(store, done)).toMatchObject({ state: 'done', response: Buffer.from('kept') })
      expect(await claimOf(store, { ...done, fingerprint: 'another' })).toMatchObject({
        state: 'done',
        fingerprint: 'f-1',
      })
      expect(await claimOf(store, repeatClaim(under))).toMatchObject({ state: 'in-progress' })
      expect(await claimOf(store, { ...unknown, takesOver: false })).toMatchObject({ state: 'unknown' })
      expect(await claimOf(store, createClaim({ client: 'full', maxKeys: 1 }))).toEqual({ state: 'full', of: 'client' })
      expect(await claimOf(store, unknown)).toBe(null)
      expect(await claimOf(store, fresh)).toBe(null)
      expect(store.failure).toBe('0 of 1 replicas have the write')
      expect(await store.call({ type: 'find', key: fresh })).toBe(false)
      expect(await store.call({ type: 'find', key: unknown })).toMatchObject({ state: 'unknown' })
      expect(store.isIdle()).toBe(true)
      expect(run).not.toHaveBeenCalled()
    })
  })

  test('a key that is freed leaves the count of its client as long as it would have lasted', async () => {
    const store = storeWith(await openLink(redis.url))
    const kept = createClaim()
    const freed = createClaim({ client: kept.client })
    const countLeftMs = () => redis.client.pTTL(`test:idempotency:{${kept.client}}:keys:${kept.ttlMs}`)

    for (const claim of [kept, freed]) await store.call({ type: 'claim', claim })
    await store.call({ type: 'settle', claim: freed, settlement: { state: 'free' } })

    expect(await countLeftMs()).toBeGreaterThan(0)
  })

  test('a store is idle when what was claimed in it is settled', async () => {
    const store = storeWith(await openLink(redis.url))
    const claim = createClaim()

    expect(store.isIdle()).toBe(true)
    await store.call({ type: 'claim', claim })
    expect(store.isIdle()).toBe(false)
    await store.call({ type: 'settle', claim, settlement: { state: 'free' } })
    expect(store.isIdle()).toBe(true)
  })

  // The script with another clock: the arguments have the time. Redis expires by its own clock, so nothing expires.
  const withTime = claimKeyScript.text.replace("redis.call('TIME')", '{ ARGV[9], ARGV[10] }')
  const withoutExpiry = withTime.replace(/, 'PX', .*\)$/m, ')').replace(/^redis\.call\('PEXPIRE'.*$/m, '')

  test('a client never has more than twice the maximum of keys, nor is it rejected one below', async () => {
    expect(withoutExpiry).not.toMatch(/TIME|PX|PEXPIRE/)
    const ttlMs = 1000
    const pausesMs = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 * ttlMs })), { maxLength: 80 })
    await fc.assert(
      fc.asyncProperty(pausesMs, fc.integer({ min: 1, max: 8 }), async (pauses, max) => {
        const { client: owner } = createClaim()
        let at = 1_700_000_000_000
        const claimedAt: number[] = []
        for (const pause of pauses) {
          at += pause
          const time = [Math.floor(at / 1000), (at % 1000) * 1000]
          const reply = await redis.client.eval(withoutExpiry, {
            keys: [`{${owner}}:${createClaim().name}`, `{${owner}}:keys`],
            arguments: ['t', 'f', 'r', ttlMs, 1, 0, max, 1, ...time].map(String),
          })
          const live = claimedAt.filter((each) => each + ttlMs > at).length
          if (String(reply) === 'c') claimedAt.push(at)
          else expect(live).toBeGreaterThanOrEqual(max)
          expect(live).toBeLessThanOrEqual(2 * max)
        }
      }),
      { numRuns: 40 },
    )
  })
})

test('a store is not idle before a claim without a reply is given back', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const replies: ((reply: unknown) => void)[] = []
  const store = storeWith({ isShared: true, run: () => new Promise((resolve) => replies.push(resolve)) })
  const reply = async (value: unknown) => {
    replies.shift()?.(value)
    await vi.advanceTimersByTimeAsync(250)
  }

  const claimed = store.call({ type: 'claim', claim: createClaim() })
  const idle = [store.isIdle()]
  for (const value of [null, null, 1]) {
    await reply(value)
    idle.push(store.isIdle())
  }

  expect(await claimed).toBe(null)
  expect(idle).toEqual([false, false, false, true])
})

test('a store is idle when a key that is claimed came before, or Redis could not be asked', async () => {
  const reply = ['p', 'r-1', 'f-1', 'token'].map((text) => Buffer.from(text))
  const asked = storeWith({ isShared: true, run: async () => [...reply, null] })
  const unasked = storeWith({ isShared: false, run: async () => null })

  for (const store of [asked, unasked]) await store.call({ type: 'claim', claim: createClaim() })

  expect([asked.isIdle(), unasked.isIdle()]).toEqual([true, true])
})

test('records that do not open are logged once a minute, without what they hold', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const log = vi.fn()
  const reply = ['d', 'r-1', 'f-1', 'token', 'x'.repeat(100)].map((text) => Buffer.from(text))
  const store = storeWith({ isShared: true, run: async () => reply }, log)
  const claimAgain = () => store.call({ type: 'claim', claim: createClaim() })

  const results = [await claimAgain(), await claimAgain()]
  expect(log).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(60_000)
  await claimAgain()

  expect(results).toEqual(Array(2).fill({ state: 'unknown', requestId: 'r-1', fingerprint: 'f-1' }))
  expect(log.mock.calls).toEqual(Array(2).fill(['warn', 'a remembered response cannot be decrypted', {}]))
})

const asBytes = (reply: unknown): unknown => {
  if (Array.isArray(reply)) return reply.map(asBytes)
  return typeof reply === 'string' ? Buffer.from(reply) : reply
}

// The attack: a Redis that lies.
test.each([
  ...[null, 1, 'c', [], ['x'], [1], [1, 2, 3, 4, 5], [['c'], [], []]],
  ...[
    ['d', null, 'f', 't', 'evil'],
    ['e', 'r', 'f', 't', 'evil'],
    ['d', 'r', 'f', 't', 1],
  ],
])('a claim to which Redis replies %j is not granted, and nothing of it is believed', async (reply) => {
  const store = storeWith({ isShared: true, run: async () => asBytes(reply) })

  expect(await store.call({ type: 'claim', claim: createClaim() })).toBe(null)
})

test.each([
  ['evil', { state: 'unknown' }],
  ['', { state: 'unknown' }],
  [null, { state: 'done', response: null }],
])('of a record that is done, a response that is %j is not believed', async (response, known) => {
  const store = storeWith({ isShared: true, run: async () => asBytes(['d', 'r', '', 't', response]) })

  expect(await store.call({ type: 'claim', claim: createClaim() })).toMatchObject(known)
})
