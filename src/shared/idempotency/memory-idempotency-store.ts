import { epochMs, now } from '../../clock.ts'
import { AgingQueue } from './aging-queue.ts'
import type {
  Claim,
  ClaimResult,
  IdempotencyCall,
  IdempotencyReplies,
  IdempotencyStore,
  IdempotencyStoreState,
  KeyDigest,
  RecordSummary,
  Settlement,
} from './idempotency-store.ts'

/** The bounds of a store in memory. */
export interface MemoryStoreBounds {
  /** The maximum of records. */
  readonly maxEntries: number
  /** The maximum of bytes of stored responses. */
  readonly maxBytes: number
}

/** What is remembered of one key. Times are of the monotonic clock. */
interface Entry {
  readonly client: string
  readonly requestId: string
  readonly ttlMs: number
  readonly claimedAt: number
  state: RecordSummary['state']
  /** Whether an attempt before this one may have been processed. */
  readonly wasUnknown: boolean
  token: string
  fingerprint: string | null
  /** When an attempt in progress counts as unknown. */
  leaseUntil: number
  /** Since when it is in its state. */
  since: number
  expiresAt: number
  response: Buffer | null
}

/**
 * Remembers in the memory of one process. What is in it is gone with the process. When there is no room for responses,
 * the oldest are given up; that their requests happened is remembered. When there is no room for records, new keys are
 * refused: nothing is forgotten before its time.
 */
export class MemoryIdempotencyStore implements IdempotencyStore {
  #bounds: MemoryStoreBounds
  readonly #entries = new Map<string, Entry>()
  /** The records by the time that they are kept for, those that expire first at the beginning. */
  readonly #queuesByTtl = new Map<number, AgingQueue>()
  /** The records with a response, the oldest first. */
  readonly #withResponse = new AgingQueue()
  readonly #inProgress = new Set<string>()
  /** The records whose outcome is unknown, the oldest first. */
  readonly #unknown = new Set<string>()
  readonly #countByClient = new Map<string, number>()
  #bytes = 0
  #dropped = 0
  #refused = 0

  constructor(bounds: MemoryStoreBounds) {
    this.#bounds = bounds
  }

  /** Changes the bounds. A smaller one holds for what comes. */
  set bounds(bounds: MemoryStoreBounds) {
    this.#bounds = bounds
  }

  call<Type extends IdempotencyCall['type']>(
    call: Extract<IdempotencyCall, { readonly type: Type }>,
  ): Promise<IdempotencyReplies[Type]> {
    return Promise.resolve(this.reply(call) as IdempotencyReplies[Type])
  }

  /** Replies to a call. */
  reply(call: IdempotencyCall): IdempotencyReplies[IdempotencyCall['type']] {
    switch (call.type) {
      case 'claim':
        return this.#claim(call.claim)
      case 'settle':
        return this.#settle(call.claim, call.settlement)
      case 'renew':
        return this.#renew(call.claim)
      case 'find':
        return this.#summarize(call.key)
      case 'forget':
        return this.#forget(call.key)
    }
  }

  /** Returns how full it is. */
  state(): IdempotencyStoreState {
    const at = now()
    this.#removeExpired(at)
    for (const name of this.#inProgress) this.#find(name, at)
    const [oldest] = this.#unknown
    const oldestSince = oldest === undefined ? null : (this.#entries.get(oldest)?.since ?? null)
    return {
      entries: this.#entries.size,
      bytes: this.#bytes,
      inProgress: this.#inProgress.size,
      unknown: this.#unknown.size,
      oldestUnknown: oldestSince === null ? null : toEpoch(oldestSince, at),
      dropped: this.#dropped,
      refused: this.#refused,
    }
  }

  #claim(claim: Claim): ClaimResult {
    const at = now()
    const entry = this.#find(claim.name, at)
    if (entry === null) return this.#insert(claim, at)
    const { state, requestId, fingerprint, response } = entry
    if (state !== 'unknown' || !claim.takesOver || fingerprint !== claim.fingerprint)
      return state === 'done' ? { state, requestId, fingerprint, response } : { state, requestId, fingerprint }
    this.#remove(claim.name, entry)
    this.#add({ ...claim, requestId }, at, true)
    return { state: 'claimed' }
  }

  #insert(claim: Claim, at: number): ClaimResult {
    this.#removeExpired(at)
    const owned = this.#countByClient.get(claim.client) ?? 0
    const free = this.#bounds.maxEntries - this.#entries.size
    // A client takes no more than it leaves, so n clients who take all that they can leave an (n+1)th of it free.
    if (owned < claim.maxKeys && owned < free) {
      this.#add(claim, at)
      return { state: 'claimed' }
    }
    this.#refused++
    return { state: 'full', of: free > 0 ? 'client' : 'store' }
  }

  #add({ client, name, token, fingerprint, requestId, ttlMs, leaseMs }: Claim, at: number, wasUnknown = false): void {
    this.#entries.set(name, {
      client,
      requestId,
      ttlMs,
      claimedAt: at,
      state: 'in-progress',
      wasUnknown,
      token,
      fingerprint,
      leaseUntil: at + leaseMs,
      since: at,
      expiresAt: at + ttlMs,
      response: null,
    })
    this.#inProgress.add(name)
    this.#countByClient.set(client, (this.#countByClient.get(client) ?? 0) + 1)
    this.#queueOf(ttlMs).add(name)
  }

  #settle({ name, token }: Claim, settlement: Settlement): boolean {
    const at = now()
    const entry = this.#findHeld(name, token, at)
    if (entry === null) return false
    if (settlement.state === 'free') {
      if (entry.wasUnknown) this.#setState(name, entry, 'unknown', at)
      else this.#remove(name, entry)
      return true
    }
    this.#setState(name, entry, settlement.state, at)
    entry.fingerprint = settlement.fingerprint
    if (settlement.state === 'done' && settlement.response !== null) this.#keep(name, entry, settlement.response)
    return true
  }

  #keep(name: string, entry: Entry, response: Buffer): void {
    entry.response = response
    this.#bytes += response.length
    this.#withResponse.add(name)
    while (this.#bytes > this.#bounds.maxBytes) {
      const oldest = this.#withResponse.first()
      if (oldest === null) return
      this.#dropResponse(oldest, this.#entries.get(oldest))
      this.#dropped++
    }
  }

  #renew({ name, token, leaseMs }: Claim): boolean {
    const at = now()
    const entry = this.#findHeld(name, token, at)
    if (entry === null) return false
    entry.leaseUntil = at + leaseMs
    return true
  }

  #summarize({ name }: KeyDigest): RecordSummary | false {
    const at = now()
    const entry = this.#find(name, at)
    if (entry === null) return false
    const { state, requestId, claimedAt, expiresAt, response } = entry
    return {
      state,
      requestId,
      claimedAt: toEpoch(claimedAt, at),
      expiresAt: toEpoch(expiresAt, at),
      responseBytes: response?.length ?? null,
    }
  }

  #forget({ name }: KeyDigest): boolean {
    const entry = this.#find(name, now())
    if (entry === null) return false
    this.#remove(name, entry)
    return true
  }

  /** Finds a record as it is now: an attempt that was not renewed in time has become unknown. */
  #find(name: string, at: number): Entry | null {
    const entry = this.#entries.get(name)
    if (entry === undefined) return null
    if (entry.state === 'in-progress') {
      if (entry.leaseUntil <= at) this.#setState(name, entry, 'unknown', at)
    } else if (entry.expiresAt <= at) {
      this.#remove(name, entry)
      return null
    }
    return entry
  }

  #findHeld(name: string, token: string, at: number): Entry | null {
    const entry = this.#find(name, at)
    return entry?.state === 'in-progress' && entry.token === token ? entry : null
  }

  /** Ends an attempt. The time that the record is kept for begins now. */
  #setState(name: string, entry: Entry, state: 'unknown' | 'done', at: number): void {
    entry.state = state
    entry.since = at
    entry.expiresAt = at + entry.ttlMs
    this.#inProgress.delete(name)
    if (state === 'unknown') this.#unknown.add(name)
    this.#queueOf(entry.ttlMs).add(name)
  }

  #remove(name: string, entry: Entry): void {
    this.#dropResponse(name, entry)
    this.#unknown.delete(name)
    this.#inProgress.delete(name)
    this.#entries.delete(name)
    this.#queueOf(entry.ttlMs).delete(name)
    const left = (this.#countByClient.get(entry.client) ?? 0) - 1
    if (left > 0) this.#countByClient.set(entry.client, left)
    else this.#countByClient.delete(entry.client)
  }

  #dropResponse(name: string, entry: Entry | undefined): void {
    this.#withResponse.delete(name)
    if (entry?.response == null) return
    this.#bytes -= entry.response.length
    entry.response = null
  }

  /** Removes what has expired. An attempt in progress has not: it expires when it has been unknown for long enough. */
  #removeExpired(at: number): void {
    for (const [ttlMs, queue] of this.#queuesByTtl) {
      for (let name = queue.first(); name !== null; name = queue.first()) {
        const entry = this.#entries.get(name)
        if (entry === undefined || entry.expiresAt > at || this.#find(name, at) !== null) break
      }
      if (queue.size === 0) this.#queuesByTtl.delete(ttlMs)
    }
  }

  #queueOf(ttlMs: number): AgingQueue {
    const queue = this.#queuesByTtl.get(ttlMs) ?? new AgingQueue()
    this.#queuesByTtl.set(ttlMs, queue)
    return queue
  }
}

const toEpoch = (at: number, present: number): number => Math.round(epochMs() - (present - at))
