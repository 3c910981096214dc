import { now, withTimeout } from '../../../core/lib/clock.ts'
import type { CacheEvents, SharedTier, TierLookup } from '../fetch-context.ts'
import type { CachePartition } from '../partition.ts'
import type { CacheRequest, CacheRules } from '../policy/cache-request.ts'
import { hasValidator } from '../policy/fields.ts'
import { keepsPlace } from '../policy/reuse.ts'
import { isServerError } from '../policy/status-codes.ts'
import { type StoredHead, selectingKey, selectVariant, servableUntil } from '../policy/stored-head.ts'
import type { CacheKey, Reservation } from '../store/stored-response.ts'
import { ownCopy, StoredBody, type StoredResponse } from '../store/stored-response.ts'
import { type CacheRecord, decodeRecord, encodeRecord, type RecordKey, toStoredHead } from './cache-record.ts'
import { maxLifetimeMs, maxSharedBytes, type RedisCacheStore } from './redis-cache-store.ts'
import { baseKey, generationKeys, queryGenerationKey, variantKey } from './redis-entry.ts'

export interface RedisTierOptions {
  readonly store: RedisCacheStore
  readonly partition: CachePartition
  readonly rules: CacheRules
  readonly events: CacheEvents
  /** The digest of the configuration that decides what responses are: gateways with another one store apart. */
  readonly shape: string
}

interface TierRead {
  /** When, by Redis's own clock: in milliseconds since the epoch; 0: unknown. */
  readonly foundAt: number
  /** The generations as they were; null: unknown. */
  readonly generations: readonly string[] | null
  /** The names of the fields that tell one variant from another; null: there are no variants. */
  readonly names: readonly string[] | null
  readonly response: ReadResponse | null
}

interface ReadResponse {
  readonly record: CacheRecord
  readonly body: StoredBody
  readonly ageMs: number
  /** When it was asked for, on the monotonic clock: it was not younger then. */
  readonly askedAt: number
}

interface PendingRead {
  readonly reservation: Reservation
  readonly read: Promise<TierRead>
}

interface PendingLoad {
  readonly base: string
  readonly reservation: Reservation
}

// A response with a validator is of use when it may no longer be served: it spares the body.
const revalidatableMs = 3_600_000

const emptyRead: TierRead = { foundAt: 0, generations: null, names: null, response: null }
const notRead = Promise.resolve(emptyRead)

/** The shared tier of one operation. Requests for the same at the same time read once. */
export class RedisTier implements SharedTier {
  readonly #options: RedisTierOptions
  readonly #pending = new Map<string, PendingRead>()
  readonly #loads = new Set<PendingLoad>()

  constructor(options: RedisTierOptions) {
    this.#options = options
  }

  lookUp(cacheKey: CacheKey, key: string, request: CacheRequest): TierLookup {
    const { link } = this.#options.store
    if (!link.isShared) return this.skipLookup(cacheKey, request)
    const base = this.#baseKey(cacheKey)
    const first = this.#read(cacheKey, base)
    const loaded = withTimeout(this.#load(cacheKey, key, base, request, first), link.timeoutMs).then(ignore)
    return this.#toLookup(cacheKey, base, request, first, loaded)
  }

  skipLookup(cacheKey: CacheKey, request: CacheRequest): TierLookup {
    return this.#toLookup(cacheKey, this.#baseKey(cacheKey), request, notRead, null)
  }

  #toLookup(
    cacheKey: CacheKey,
    base: string,
    request: CacheRequest,
    first: Promise<TierRead>,
    loaded: Promise<void> | null,
  ): TierLookup {
    return {
      loaded,
      store: (entry) => void first.then((found) => this.#write(cacheKey, base, request, entry, found)),
      remove: () => {
        this.#cancel(base, base)
        void first.then((found) => this.#remove(cacheKey, base, request, found))
      },
    }
  }

  /**
   * Removes what a request selects, and what is under further keys. What was asked of them before does not get into
   * memory. Names of variants stay, so that each other one is found, and can be removed in its turn. Redis is asked now
   * where it was not before, or did not reply in time. Where it does not say what there is, or that it is gone, the
   * whole query goes.
   */
  async #remove(
    cacheKey: CacheKey,
    base: string,
    request: CacheRequest,
    found: TierRead,
    furtherKeys: readonly string[] = [],
  ): Promise<void> {
    const { generations, names } = found.generations === null ? await this.#read(cacheKey, base) : found
    const keys = [selectedKey(base, names, request), ...furtherKeys]
    for (const key of keys) this.#cancel(base, key)
    const removed = this.#options.store.remove(base, keys)
    if (generations === null || !(await removed)) await this.#endQuery(cacheKey)
  }

  /** Ends the generation of a query, for all clients; while Redis does not respond, as soon as it does. */
  #endQuery({ query }: CacheKey): Promise<boolean> {
    const { store, partition } = this.#options
    return store.renewGenerations([queryGenerationKey(store.space, partition.operation, query)])
  }

  #cancel(base: string, key: string): void {
    const read = this.#pending.get(key)
    if (read !== undefined) read.reservation.isCancelled = true
    for (const load of this.#loads) if (load.base === base) load.reservation.isCancelled = true
  }

  /** Never rejects. */
  async #load(
    cacheKey: CacheKey,
    key: string,
    base: string,
    request: CacheRequest,
    first: Promise<TierRead>,
  ): Promise<void> {
    const { partition, rules, store, events } = this.#options
    const reservation = partition.reserve(cacheKey)
    const pending = { base, reservation }
    this.#loads.add(pending)
    try {
      let read = await first
      if (read.names !== null) read = await this.#read(cacheKey, selectedKey(base, read.names, request))
      const { response } = read
      if (response === null) return
      const { record, body, askedAt, ageMs } = response
      const head = toStoredHead(record, body.bytes.length, { request, rules, now: askedAt, ageMs })
      if (head === null || head.bytes + body.bytes.length > rules.maxEntry) return
      const present = selectVariant(partition.find(key)?.variants ?? [], request)
      if (present !== null && keepsPresent(present.head, head, request, askedAt)) return
      store.counts.found++
      partition.put(
        reservation,
        { head, body },
        (other) => other === present || selectVariant([other], request) !== null,
      )
    } catch (error) {
      events.onError(error)
    } finally {
      reservation.release()
      this.#loads.delete(pending)
    }
  }

  /** Reads a key, once for all who want it. What became invalid meanwhile is not for later requests. */
  #read(cacheKey: CacheKey, key: string): Promise<TierRead> {
    const pending = this.#pending.get(key)
    if (pending !== undefined && !pending.reservation.isCancelled) return pending.read
    const reservation = this.#options.partition.reserve(cacheKey)
    const read = this.#fetch(cacheKey, key).finally(() => {
      reservation.release()
      if (this.#pending.get(key)?.reservation === reservation) this.#pending.delete(key)
    })
    this.#pending.set(key, { reservation, read })
    return read
  }

  async #fetch(cacheKey: CacheKey, key: string): Promise<TierRead> {
    const { store, partition } = this.#options
    const askedAt = now()
    const found = await store.find(key, generationKeys(store.space, partition.operation, cacheKey))
    if (found === null) return emptyRead
    const { content, ...read } = found
    if (content === null) return { ...emptyRead, ...read }
    if (content.kind === 'varies') return { ...emptyRead, ...read, names: content.names.split(',') }
    const { head, body, ageMs } = content
    const record = decodeRecord(this.#recordKey(cacheKey), head, body)
    if (record === null) store.counts.refused++
    const response = record && { record, body: new StoredBody(ownCopy(body)), ageMs, askedAt }
    return { ...read, names: null, response }
  }

  #write(
    cacheKey: CacheKey,
    base: string,
    request: CacheRequest,
    { head, body }: StoredResponse,
    found: TierRead,
  ): void {
    const { store, partition } = this.#options
    const { foundAt, generations } = found
    const bytes = head.bytes + body.bytes.length
    const forMs = usefulMs(head)
    const isError = isServerError(head.status)
    const key = head.varies.length === 0 ? base : variantKey(base, head.selecting)
    // The stored response is older, and would be used on; one that may stand in for an error stays.
    if (bytes > maxSharedBytes || forMs <= 0) {
      if (!isError) void this.#remove(cacheKey, base, request, found, [key])
      return
    }
    if (generations === null) return
    store.write({
      base,
      key,
      generationKeys: generationKeys(store.space, partition.operation, cacheKey),
      generations,
      foundAt,
      date: head.date,
      forMs,
      isError,
      varies: head.varies,
      bytes,
      head: () => encodeRecord(this.#recordKey(cacheKey), head, body.bytes, now()),
      body: body.bytes,
    })
  }

  #baseKey(cacheKey: CacheKey): string {
    const { store, partition, shape } = this.#options
    return baseKey(store.space, shape, partition.operation, cacheKey)
  }

  #recordKey({ client, site, query }: CacheKey): RecordKey {
    const { partition, shape } = this.#options
    return { operation: partition.operation, shape, client, site, query }
  }
}

const selectedKey = (base: string, names: readonly string[] | null, request: CacheRequest): string =>
  names === null ? base : variantKey(base, selectingKey(names, request))

/** Tells whether the response in memory stays, instead of the one found. */
const keepsPresent = (present: StoredHead, found: StoredHead, request: CacheRequest, now: number): boolean => {
  if (keepsPlace(found, present.status, request, now)) return false
  return keepsPlace(present, found.status, request, now) || present.receivedAt >= found.receivedAt
}

/**
 * Returns for how long a response may be of any use: an error no longer than it is fresh, so that it keeps no other
 * out.
 */
const usefulMs = (head: StoredHead): number => {
  const isValidatedLater = hasValidator(head) && !isServerError(head.status)
  return Math.min(maxLifetimeMs, servableUntil(head) - now() + (isValidatedLater ? revalidatableMs : 0))
}

const ignore = (): void => {}
