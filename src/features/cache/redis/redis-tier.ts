import { now, withTimeout } from '../../../core/lib/clock.ts'
import type { CacheEvents, SharedTier, TierLookup } from '../fetch-context.ts'
import type { CachePartition } from '../partition.ts'
import type { CacheRequest, CacheRules } from '../policy/cache-request.ts'
import { hasValidator } from '../policy/fields.ts'
import { keepsPlace } from '../policy/reuse.ts'
import { isServerError } from '../policy/status-codes.ts'
import { type StoredHead, selectingKey, selectVariant, servableUntil } from '../policy/stored-head.ts'
import type { Reservation } from '../store/cache-store.ts'
import { type CacheKey, ownCopy, StoredBody, type StoredResponse } from '../store/stored-response.ts'
import { decodeRecord, encodeRecord, type FoundRecord, type RecordKey, toStoredHead } from './cache-record.ts'
import { maxSharedBytes, type RedisCacheStore } from './redis-cache-store.ts'
import * as redisEntry from './redis-entry.ts'

export interface RedisTierOptions {
  readonly store: RedisCacheStore
  readonly partition: CachePartition
  readonly rules: CacheRules
  readonly events: CacheEvents
  readonly shape: string
}

/** `foundAt` 0, `generations` null: unknown. */
interface TierRead extends Pick<redisEntry.RedisEntry, 'foundAt' | 'names'> {
  readonly generations: readonly string[] | null
  readonly response: FoundRecord | null
}

// How long a stale response with a validator stays: a 304 saves sending the body.
const revalidatableMs = 3_600_000

const emptyRead: TierRead = { foundAt: 0, generations: null, names: null, response: null }
const notRead = Promise.resolve(emptyRead)

/** Simultaneous requests for the same response read once. */
export const createRedisTier = (options: RedisTierOptions): SharedTier => {
  const tier: TierState = { ...options, pending: new Map(), loads: new Set() }
  return {
    lookUp: (cacheKey, key, request) =>
      new RedisLookup(tier, cacheKey, request, options.store.link.isShared ? key : null),
  }
}

interface TierState extends RedisTierOptions {
  readonly pending: Map<string, { readonly reservation: Reservation; readonly read: Promise<TierRead> }>
  readonly loads: Set<{ readonly base: string; readonly reservation: Reservation }>
}

class RedisLookup implements TierLookup {
  readonly loaded: Promise<void> | null
  readonly #tier: TierState
  readonly #cacheKey: CacheKey
  readonly #request: CacheRequest
  readonly #base: string
  readonly #first: Promise<TierRead>

  /** `key`: the key in memory; null: Redis is not read. */
  constructor(tier: TierState, cacheKey: CacheKey, request: CacheRequest, key: string | null) {
    const { store, shape, partition } = tier
    this.#tier = tier
    this.#cacheKey = cacheKey
    this.#request = request
    this.#base = redisEntry.baseKey(store.space, shape, partition.operation, cacheKey)
    this.#first = key === null ? notRead : this.#read(this.#base)
    this.loaded = key === null ? null : withTimeout(this.#load(key), store.link.timeoutMs).then(ignore)
  }

  store(entry: StoredResponse): void {
    void this.#first.then((found) => this.#write(entry, found))
  }

  remove(): void {
    this.#cancel(this.#base)
    void this.#first.then((found) => this.#remove(found))
  }

  /**
   * Removes the selected response and `furtherKeys`, also from reads under way; Vary names stay, for other variants.
   * Without a reply, the lookup is repeated; if that fails too, the generation of the query ends for all clients.
   */
  async #remove(found: TierRead, furtherKeys: readonly string[] = []): Promise<void> {
    const { store, partition } = this.#tier
    const { generations, names } = found.generations === null ? await this.#read(this.#base) : found
    const keys = [this.#selectedKey(names), ...furtherKeys]
    for (const key of keys) this.#cancel(key)
    const removed = store.remove(this.#base, keys)
    if (generations === null || !(await removed))
      await store.purges.add([redisEntry.queryGenerationKey(store.space, partition.operation, this.#cacheKey.query)])
  }

  #cancel(key: string): void {
    const { pending, loads } = this.#tier
    const read = pending.get(key)
    if (read !== undefined) read.reservation.isCanceled = true
    for (const load of loads) if (load.base === this.#base) load.reservation.isCanceled = true
  }

  /** Never rejects. */
  async #load(key: string): Promise<void> {
    const { partition, rules, store, events, loads } = this.#tier
    const request = this.#request
    const reservation = partition.reserve(this.#cacheKey)
    const pending = { base: this.#base, reservation }
    loads.add(pending)
    try {
      let read = await this.#first
      if (read.names !== null) read = await this.#read(this.#selectedKey(read.names))
      const { response } = read
      if (response === null) return
      const { body } = response
      const head = toStoredHead(response, request, rules)
      if (head === null || head.bytes + body.bytes.length > rules.maxEntry) return
      const present = selectVariant(partition.find(key)?.variants ?? [], request)
      if (present !== null && keepsPresent(present.head, head, request, response.now)) return
      store.counts.found++
      const isReplaced = (other: StoredResponse) => other === present || selectVariant([other], request) !== null
      partition.put(reservation, { head, body }, isReplaced)
    } catch (error) {
      events.onError(error)
    } finally {
      reservation.release()
      loads.delete(pending)
    }
  }

  /** Once for all requests. Later requests do not get a result that was invalidated meanwhile. */
  #read(key: string): Promise<TierRead> {
    const { pending, partition } = this.#tier
    const underWay = pending.get(key)
    if (underWay !== undefined && !underWay.reservation.isCanceled) return underWay.read
    const reservation = partition.reserve(this.#cacheKey)
    const read = this.#fetch(key).finally(() => {
      reservation.release()
      if (pending.get(key)?.reservation === reservation) pending.delete(key)
    })
    pending.set(key, { reservation, read })
    return read
  }

  async #fetch(key: string): Promise<TierRead> {
    const { store } = this.#tier
    const askedAt = now()
    const found = await store.find(key, this.#generationKeys)
    if (found === null) return emptyRead
    const { stored, ...read } = found
    if (stored === null) return { ...read, response: null }
    const { head, body, ageMs } = stored
    const record = decodeRecord(this.#recordKey, head, body)
    if (record === null) store.counts.rejected++
    return { ...read, response: record && { record, body: new StoredBody(ownCopy(body)), ageMs, now: askedAt } }
  }

  #write({ head, body }: StoredResponse, found: TierRead): void {
    const { foundAt, generations } = found
    const bytes = head.bytes + body.bytes.length
    const forMs = usefulMs(head)
    const isError = isServerError(head.status)
    const key = head.varies.length === 0 ? this.#base : redisEntry.variantKey(this.#base, head.selecting)
    // Redis would keep serving its older entry. An entry that may be served instead of an error stays.
    if (bytes > maxSharedBytes || forMs <= 0) {
      if (!isError) void this.#remove(found, [key])
      return
    }
    if (generations === null) return
    this.#tier.store.write({
      base: this.#base,
      bytes,
      toScriptArgs: () => ({
        keys: [this.#base, key, ...this.#generationKeys],
        args: [
          ...generations,
          ...[redisEntry.newGeneration(), redisEntry.generationMs, String(Math.ceil(forMs)), head.varies.join(',')],
          ...[encodeRecord(this.#recordKey, head, body.bytes, now()), body.bytes],
          ...[isError ? '1' : '', String(head.date), String(foundAt)],
        ],
      }),
    })
  }

  #selectedKey(names: readonly string[] | null): string {
    return names === null ? this.#base : redisEntry.variantKey(this.#base, selectingKey(names, this.#request))
  }

  get #generationKeys(): readonly string[] {
    const { store, partition } = this.#tier
    return redisEntry.generationKeys(store.space, partition.operation, this.#cacheKey)
  }

  get #recordKey(): RecordKey {
    const { partition, shape } = this.#tier
    return { ...this.#cacheKey, operation: partition.operation, shape }
  }
}

const keepsPresent = (present: StoredHead, found: StoredHead, request: CacheRequest, now: number): boolean => {
  if (keepsPlace(found, present.status, request, now)) return false
  return keepsPlace(present, found.status, request, now) || present.receivedAt >= found.receivedAt
}

/** A stale error is of no value, and would keep another response out. */
const usefulMs = (head: StoredHead): number => {
  const isValidatedLater = hasValidator(head) && !isServerError(head.status)
  return Math.min(redisEntry.maxLifetimeMs, servableUntil(head) - now() + (isValidatedLater ? revalidatableMs : 0))
}

const ignore = (): void => {}
