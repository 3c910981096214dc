import { now, toEpochMs } from '../../../core/lib/clock.ts'
import type { IdempotencyConfig } from '../config.ts'
import type {
  CallOf,
  Claim,
  ClaimResult,
  IdempotencyCall,
  IdempotencyReplies,
  IdempotencyReply,
  IdempotencyStore,
  RecordSummary,
  Settlement,
} from './idempotency-store.ts'
import { createNameIndex } from './memory/name-index.ts'
import { SettledRecords } from './memory/settled-records.ts'

type MemoryStoreBounds = Pick<IdempotencyConfig, 'maxEntries' | 'maxBytes'>

const lapsePauseMs = 15_000

/** Without room, the oldest responses are dropped and new keys rejected: no key is dropped before it expires. */
export class MemoryIdempotencyStore implements IdempotencyStore {
  /** A smaller bound is for new records. */
  bounds: MemoryStoreBounds
  readonly #attempts = createAttemptTable()
  readonly #settled = new SettledRecords((record) => this.#count(record, -1))
  readonly #countByClient = new Map<string, number>()
  readonly #countByShare = new Map<string, number>()
  #nextLapseAt = 0
  #rejected = 0

  constructor(bounds: MemoryStoreBounds) {
    this.bounds = bounds
  }

  call<Type extends IdempotencyCall['type']>(call: CallOf<Type>): Promise<IdempotencyReplies[Type]> {
    return Promise.resolve(this.reply(call) as IdempotencyReplies[Type])
  }

  reply(call: IdempotencyCall): IdempotencyReply {
    return this[call.type](call as never)
  }

  state() {
    const at = now()
    this.#lapseAll(at)
    this.#settled.removeExpired(at)
    const oldestUnknown = this.#settled.oldestUnknownSince()
    return {
      entries: this.#entries,
      bytes: this.#settled.bytes,
      inProgress: this.#attempts.size(),
      unknown: this.#settled.unknown,
      oldestUnknown: oldestUnknown === null ? null : toEpochMs(oldestUnknown),
      dropped: this.#settled.dropped,
      rejected: this.#rejected,
    }
  }

  get #entries(): number {
    return this.#attempts.size() + this.#settled.size
  }

  claim({ claim }: CallOf<'claim'>): ClaimResult {
    const at = now()
    const attempt = this.#findAttempt(claim.name, at)
    if (attempt !== null) {
      const { requestId, fingerprint } = attempt.claim
      return { state: 'in-progress', requestId, fingerprint }
    }
    const place = this.#settled.find(claim.name, at)
    if (place === null) return this.#insert(claim, at)
    const { state, requestId, fingerprint, claimedAt } = this.#settled.read(place)
    if (state === 'done') return { state, requestId, fingerprint, response: this.#settled.copyResponse(place) }
    // The fingerprint of a streaming body is not known yet.
    const known = claim.fingerprint ?? fingerprint
    if (!claim.takesOver || fingerprint !== known) return { state, requestId, fingerprint }
    this.#settled.remove(place)
    this.#add({ ...claim, requestId, fingerprint: known }, at, claimedAt)
    return { state: 'claimed' }
  }

  #insert(claim: Claim, at: number): ClaimResult {
    if (at >= this.#nextLapseAt) this.#lapseAll(at)
    this.#settled.removeExpired(at)
    const free = this.bounds.maxEntries - this.#entries
    const [ofClient, ofShare] = [this.#countByClient.get(claim.client) ?? 0, this.#countByShare.get(claim.share) ?? 0]
    // Each share may use at most half of the free room, so n shares leave 1/(n+1) of it.
    if (ofClient < claim.maxKeys && ofShare < free) {
      this.#add(claim, at, null)
      return { state: 'claimed' }
    }
    this.#rejected++
    return { state: 'full', of: free > 0 ? 'client' : 'store' }
  }

  /** `firstAt`: when the first attempt, of unknown outcome, made its claim; null: this is the first. */
  #add(claim: Claim, at: number, firstAt: number | null): void {
    const wasUnknown = firstAt !== null
    this.#attempts.add({ claim, claimedAt: firstAt ?? at, wasUnknown, leaseUntil: at + claim.leaseMs })
    this.#count(claim, 1)
  }

  settle({ claim: { name, token }, settlement }: CallOf<'settle'>): boolean {
    const at = now()
    const attempt = this.#findHeld(name, token, at)
    if (attempt === null) return false
    if (settlement.state !== 'free') this.#end(attempt, settlement, at)
    else if (attempt.wasUnknown) this.#endUnknown(attempt, at)
    else {
      this.#attempts.delete(name)
      this.#count(attempt.claim, -1)
    }
    return true
  }

  #end({ claim, claimedAt }: Attempt, settlement: Exclude<Settlement, { state: 'free' }>, at: number): void {
    const { name, client, share, requestId, ttlMs } = claim
    const { state, fingerprint } = settlement
    this.#attempts.delete(name)
    const record = { name, client, share, requestId, fingerprint, state, claimedAt, since: at, ttlMs }
    this.#settled.add(record, settlement.state === 'done' ? settlement.response : null, this.bounds.maxBytes)
  }

  #endUnknown(attempt: Attempt, at: number): void {
    this.#end(attempt, { state: 'unknown', fingerprint: attempt.claim.fingerprint }, at)
  }

  renew({ claim: { name, token, leaseMs } }: CallOf<'renew'>): boolean {
    const at = now()
    const attempt = this.#findHeld(name, token, at)
    if (attempt !== null) attempt.leaseUntil = at + leaseMs
    return attempt !== null
  }

  find({ key: { name } }: CallOf<'find'>): RecordSummary | false {
    const at = now()
    const attempt = this.#findAttempt(name, at)
    if (attempt !== null) {
      const { requestId, ttlMs } = attempt.claim
      const times = { claimedAt: toEpochMs(attempt.claimedAt), expiresAt: toEpochMs(attempt.leaseUntil + ttlMs) }
      return { state: 'in-progress', requestId, ...times, responseBytes: null }
    }
    const place = this.#settled.find(name, at)
    if (place === null) return false
    const { state, requestId, claimedAt, since, ttlMs } = this.#settled.read(place)
    const times = { claimedAt: toEpochMs(claimedAt), expiresAt: toEpochMs(since + ttlMs) }
    return { state, requestId, ...times, responseBytes: this.#settled.responseLength(place) }
  }

  forget({ key: { name } }: CallOf<'forget'>): IdempotencyReplies['forget'] {
    const at = now()
    if (this.#findAttempt(name, at) !== null) return 'in-progress'
    const place = this.#settled.find(name, at)
    if (place !== null) this.#settled.remove(place)
    return place !== null
  }

  /** An expired lease turns an attempt into an unknown outcome. */
  #findAttempt(name: string, at: number): Attempt | null {
    const attempt = this.#attempts.get(name)
    if (attempt === null || this.#lapse(attempt, at)) return null
    return attempt
  }

  #findHeld(name: string, token: string, at: number): Attempt | null {
    const attempt = this.#findAttempt(name, at)
    return attempt?.claim.token === token ? attempt : null
  }

  /** False: the lease holds. */
  #lapse(attempt: Attempt, at: number): boolean {
    if (attempt.leaseUntil > at) return false
    this.#endUnknown(attempt, at)
    return true
  }

  #lapseAll(at: number): void {
    this.#nextLapseAt = at + lapsePauseMs
    for (const attempt of this.#attempts.list()) this.#lapse(attempt, at)
  }

  #count({ client, share }: Pick<Claim, 'client' | 'share'>, by: 1 | -1): void {
    addTo(this.#countByClient, client, by)
    addTo(this.#countByShare, share, by)
  }
}

const addTo = (counts: Map<string, number>, name: string, by: 1 | -1): void => {
  const count = (counts.get(name) ?? 0) + by
  if (count > 0) counts.set(name, count)
  else counts.delete(name)
}

/** Times are monotonic; `claimedAt`: of the first attempt. `wasUnknown`: an earlier attempt may have been processed. */
interface Attempt {
  readonly claim: Claim
  readonly claimedAt: number
  readonly wasUnknown: boolean
  leaseUntil: number
}

/** V8 copies a Map after every few removals, and the old copy lives on: half a kilobyte for each request. */
const createAttemptTable = () => {
  const attempts: (Attempt | null)[] = []
  const free: number[] = []
  // Places start at 1.
  const index = createNameIndex((place, name) => attempts[place - 1]?.claim.name === name)
  return {
    size: (): number => index.size,
    get(name: string): Attempt | null {
      const place = index.find(name)
      return place === null ? null : (attempts[place - 1] ?? null)
    },
    add(attempt: Attempt): void {
      const at = free.pop() ?? attempts.length
      attempts[at] = attempt
      index.add(attempt.claim.name, at + 1)
    },
    delete(name: string): void {
      const place = index.find(name)
      if (place === null) return
      index.delete(name)
      attempts[place - 1] = null
      free.push(place - 1)
    },
    /** A copy: attempts may be removed meanwhile. */
    list: (): readonly Attempt[] => attempts.filter((attempt) => attempt !== null),
  }
}
