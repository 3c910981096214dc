import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Claim, ClaimResult, Settlement } from '../../../../src/features/idempotency/store/idempotency-store.ts'
import { MemoryIdempotencyStore } from '../../../../src/features/idempotency/store/memory-idempotency-store.ts'
import { createClaim, repeatClaim } from '../idempotency-claim.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const bounds = { maxEntries: 12, maxBytes: 1000 }
const [leaseMs, maxKeys] = [50, 8]

interface Entry {
  readonly claim: Claim
  readonly requestId: string
  readonly wasUnknown: boolean
  readonly leaseUntil: number
  readonly state: 'in-progress' | 'unknown' | 'done'
  readonly since: number
  response: Buffer | null
}

/** What a store remembers, in the plainest form: in the order of its end. */
class Model {
  readonly entries = new Map<string, Entry>()
  dropped = 0

  /** Forgets what has expired, and has lapse what is asked for. */
  bringUpToDate(at: number, ...names: readonly string[]): void {
    for (const [name, { state, since, claim }] of this.entries)
      if (state !== 'in-progress' && since + claim.ttlMs <= at) this.entries.delete(name)
    for (const name of names) {
      const entry = this.entries.get(name)
      if (entry?.state === 'in-progress' && entry.leaseUntil <= at) this.end(name, 'unknown', at)
    }
  }

  end(name: string, state: 'unknown' | 'done', at: number, response: Buffer | null = null): void {
    const entry = this.entries.get(name) as Entry
    this.entries.delete(name)
    this.entries.set(name, { ...entry, state, since: at, response })
    for (const each of this.entries.values()) {
      if (this.bytes <= bounds.maxBytes) return
      if (each.response !== null) this.dropped++
      each.response = null
    }
  }

  get bytes(): number {
    return [...this.entries.values()].reduce((total, { response }) => total + (response?.length ?? 0), 0)
  }

  claim(claim: Claim, at: number): ClaimResult {
    const entry = this.entries.get(claim.name)
    if (entry !== undefined && !(entry.state === 'unknown' && claim.takesOver)) {
      const { state, requestId, response, claim: first } = entry
      const known = { requestId, fingerprint: first.fingerprint }
      return state === 'done' ? { state, ...known, response } : { state, ...known }
    }
    const free = bounds.maxEntries - this.entries.size
    const own = [...this.entries.values()].filter((each) => each.claim.client === claim.client).length
    if (entry === undefined && own >= Math.min(free, claim.maxKeys))
      return { state: 'full', of: free > 0 ? 'client' : 'store' }
    this.entries.delete(claim.name)
    this.entries.set(claim.name, {
      ...{ claim, requestId: entry?.requestId ?? claim.requestId, wasUnknown: entry !== undefined },
      ...{ leaseUntil: at + leaseMs, state: 'in-progress', since: at, response: null },
    })
    return { state: 'claimed' }
  }
}

test('remembers what a plain list of records would, whatever is claimed, settled, forgotten and expires', () => {
  const name = fc.constantFrom(...'abcdefghijklmnop')
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ type: fc.constant('claim'), name, takesOver: fc.boolean() }) },
    {
      weight: 5,
      arbitrary: fc.record({
        ...{ type: fc.constant('settle'), name, state: fc.constantFrom('done' as const, 'done', 'unknown', 'free') },
        bytes: fc.constantFrom(null, 0, 10, 400, 1001),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('forget'), name }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('wait'), ms: fc.constantFrom(1, 30, 60, 400) }) },
  )

  // What has expired makes room before anything is given up.
  const roomOfExpired: (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[] = [
    { type: 'claim', name: 'j', takesOver: false },
    { type: 'claim', name: 'p', takesOver: false },
    { type: 'settle', name: 'j', state: 'done', bytes: 10 },
    { type: 'wait', ms: 400 },
    { type: 'claim', name: 'p', takesOver: true },
    { type: 'settle', name: 'p', state: 'done', bytes: 1001 },
  ]
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const store = new MemoryIdempotencyStore(bounds)
      const model = new Model()
      for (const [nth, each] of steps.entries()) {
        vi.advanceTimersByTime(1) // of two that end at once, neither is the older one
        const at = performance.now()
        model.bringUpToDate(at, ...('name' in each ? [each.name] : []))
        if (each.type === 'wait') {
          vi.advanceTimersByTime(each.ms)
          continue
        }
        const known = model.entries.get(each.name)
        const client = 'abcdefgh'.includes(each.name) ? 'c-1' : 'c-2'
        const ttlMs = 100 + (each.name.charCodeAt(0) % 3) * 100
        if (each.type === 'claim') {
          const { takesOver } = each
          const claim = createClaim({ name: each.name, client, ttlMs, leaseMs, maxKeys, takesOver })
          expect(store.reply({ type: 'claim', claim })).toEqual(model.claim(claim, at))
        } else if (each.type === 'forget') {
          const key = { name: each.name, client }
          const isHeld = known?.state === 'in-progress'
          expect(store.reply({ type: 'forget', key })).toBe(isHeld ? 'in-progress' : model.entries.delete(each.name))
        } else {
          const claim = known?.claim ?? createClaim({ name: each.name, client })
          const response = each.bytes === null ? null : Buffer.alloc(each.bytes, nth)
          const { fingerprint } = claim
          const settlements = {
            done: { state: 'done', fingerprint, response },
            unknown: { state: 'unknown', fingerprint },
            free: { state: 'free' },
          } as const
          const settlement = settlements[each.state]
          const isHeld = known?.state === 'in-progress'
          expect(store.reply({ type: 'settle', claim, settlement })).toBe(isHeld)
          if (isHeld && settlement.state !== 'free')
            model.end(each.name, settlement.state, at, settlement.state === 'done' ? response : null)
          else if (isHeld && known.wasUnknown) model.end(each.name, 'unknown', at)
          else if (isHeld) model.entries.delete(each.name)
        }
      }
      const at = performance.now()
      model.bringUpToDate(at)
      model.bringUpToDate(at, ...model.entries.keys())
      const entries = [...model.entries.values()]
      const unknown = entries.filter(({ state }) => state === 'unknown')
      expect(store.state()).toEqual({
        entries: entries.length,
        bytes: model.bytes,
        inProgress: entries.filter(({ state }) => state === 'in-progress').length,
        unknown: unknown.length,
        oldestUnknown: unknown.length === 0 ? null : expect.any(Number),
        dropped: model.dropped,
        rejected: expect.any(Number),
      })
      const oldest = Math.min(...unknown.map(({ since }) => since))
      if (unknown.length > 0) expect(Date.now() - (store.state().oldestUnknown ?? 0)).toBeCloseTo(at - oldest, -1)
    }),
    { numRuns: 150, examples: [[roomOfExpired]] },
  )
})

test('what is left of many keys is found, and goes in its order, when those between were forgotten', () => {
  const ttlMs = 60_000
  const store = new MemoryIdempotencyStore({ maxEntries: 1e6, maxBytes: 1e9 })
  const claims = Array.from({ length: 8000 }, () => createClaim({ client: 'c', maxKeys: 1e6, ttlMs }))
  const startedAt = Date.now()
  const settle = (claim: Claim, settlement: Settlement): void => {
    vi.advanceTimersByTime(1)
    store.reply({ type: 'claim', claim })
    store.reply({ type: 'settle', claim, settlement })
  }
  const responseOf = (nth: number): Buffer => Buffer.alloc(300, nth % 256)
  const recall = (nth: number) => store.reply({ type: 'claim', claim: repeatClaim(claims[nth] as Claim) })
  const forget = (nth: number) => store.reply({ type: 'forget', key: claims[nth] as Claim })
  for (const [nth, claim] of claims.entries())
    settle(
      claim,
      nth % 100 === 50
        ? { state: 'unknown', fingerprint: 'f-1' }
        : { state: 'done', fingerprint: 'f-1', response: responseOf(nth) },
    )

  for (const nth of claims.keys()) if (nth % 50 !== 0) forget(nth)

  for (let nth = 0; nth < claims.length; nth += 50) {
    const first = { requestId: claims[nth]?.requestId, fingerprint: 'f-1' }
    expect(recall(nth)).toEqual(
      nth % 100 === 50 ? { state: 'unknown', ...first } : { state: 'done', ...first, response: responseOf(nth) },
    )
  }
  const counts = { entries: 160, unknown: 80, bytes: 80 * 300, dropped: 0 }
  expect(store.state()).toMatchObject({ ...counts, oldestUnknown: startedAt + 51 })

  forget(50)
  store.bounds = { maxEntries: 1e6, maxBytes: 80 * 300 }
  settle(createClaim({ ttlMs }), { state: 'done', fingerprint: 'f-1', response: responseOf(0) })

  expect(store.state()).toMatchObject({ ...counts, unknown: 79, dropped: 1, oldestUnknown: startedAt + 151 })
  expect([recall(0), recall(100)]).toMatchObject([{ response: null }, { response: responseOf(100) }])

  vi.advanceTimersByTime(startedAt + 4000 + ttlMs - Date.now())

  const later = { entries: 81, unknown: 40, bytes: 41 * 300, oldestUnknown: startedAt + 4051 }
  expect(store.state()).toMatchObject(later)
})

test('an attempt whose lease has run out is unknown, and then expires, though nobody asks for it', () => {
  const store = new MemoryIdempotencyStore({ maxEntries: 100, maxBytes: 1e6 })
  const claimOther = (): unknown => store.reply({ type: 'claim', claim: createClaim({ ttlMs: 1000 }) })

  for (let nth = 0; nth < 50; nth++)
    store.reply({ type: 'claim', claim: createClaim({ client: 'c', leaseMs, ttlMs: 1000 }) })
  vi.advanceTimersByTime(20_000)
  claimOther()
  vi.advanceTimersByTime(2000)
  claimOther()

  expect(store.state()).toMatchObject({ entries: 2, inProgress: 2, unknown: 0 })
})

test('clients of one share have no more than it leaves free, until their records have gone', () => {
  const store = new MemoryIdempotencyStore({ maxEntries: 100, maxBytes: 1000 })
  const claimOf = (share: string): Claim | null => {
    const claim = createClaim({ share, ttlMs: 1000 })
    return (store.reply({ type: 'claim', claim }) as ClaimResult).state === 'claimed' ? claim : null
  }
  const claimMany = (): readonly Claim[] =>
    Array.from({ length: 200 }, () => claimOf('s-1')).filter((each) => each !== null)

  const taken = claimMany()
  const another = claimOf('s-2')
  for (const claim of taken) {
    const settlement = { state: 'done', fingerprint: 'f', response: null } as const
    store.reply({ type: 'settle', claim, settlement })
  }
  const whileRemembered = claimMany()
  vi.advanceTimersByTime(1000)

  expect([taken.length, another === null, whileRemembered.length]).toEqual([50, false, 0])
  expect(claimMany()).toHaveLength(50)
})
