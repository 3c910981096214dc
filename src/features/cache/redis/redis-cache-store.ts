import { randomBytes } from 'node:crypto'
import { keySlot } from '../../redis/key-slot.ts'
import type { ManagedRedis } from '../../redis/managed-redis.ts'
import { removeScript, type ScriptArgs } from '../../redis/redis-script.ts'
import { PendingPurges } from './pending-purges.ts'
import { type CacheKeySpace, generationCount, purgedGenerationKeys } from './redis-keys.ts'
import { findScript, renewScript, storeScript } from './scripts.ts'

interface RedisEntry {
  /** When, by Redis's own clock: in milliseconds since the epoch. */
  readonly foundAt: number
  /** The generations as they were; an empty text means that there was none. */
  readonly generations: readonly string[]
  readonly content: RedisEntryContent | null
}

/** The content of a key: the names that responses vary by, or one response. */
type RedisEntryContent =
  | { readonly kind: 'varies'; readonly names: string }
  | { readonly kind: 'response'; readonly head: Buffer; readonly body: Buffer; readonly ageMs: number }

interface PendingWrite {
  readonly base: string
  readonly key: string
  readonly generationKeys: readonly string[]
  readonly generations: readonly string[]
  /** When it was looked up, by Redis's own clock. */
  readonly foundAt: number
  /** Its Date: in milliseconds since the epoch. */
  readonly date: number
  /** For how long it may be of use, in milliseconds. */
  readonly forMs: number
  /** Whether it is a server error: it is written only where nothing is. */
  readonly isError: boolean
  readonly varies: readonly string[]
  readonly bytes: number
  /** Encodes the head when its turn has come. */
  head(): Buffer
  readonly body: Buffer
}

export const maxLifetimeMs = 7 * 24 * 3_600_000

// An entry of a forgotten generation has expired before it.
const generationMs = String(maxLifetimeMs + 24 * 3_600_000)

/** The most bytes of a response: the next command on the same connection waits until it has come. */
export const maxSharedBytes = 1024 * 1024

// The head grows a little when it is written.
const maxFoundBytes = String(maxSharedBytes + 128 * 1024)

// Of the names of fields that responses vary by.
const maxNamesLength = 4096

// Of the writes that wait. A response beyond that is not shared.
const maxQueuedBytes = 16 * 1024 * 1024
const maxQueuedWrites = 1000

// No request waits for these, but for an operator's purge.
const backgroundTimeoutMs = 1000

/** The counts of a Redis that gateways store in. Those of several workers add up, and /status shows each. */
export const zeroRedisCacheCounts = {
  found: 0,
  /** Entries that were no records, or of another key. */
  refused: 0,
  /** Responses that were not written: too much was waiting, or Redis did not take them. */
  dropped: 0,
}

/** They never decrease. */
export type RedisCacheCounts = Readonly<typeof zeroRedisCacheCounts>

type Link = Pick<ManagedRedis, 'isShared' | 'timeoutMs' | 'run'>

/**
 * The Redis in which several gateways store, for all operations of this one. Nothing here rejects, and no request waits
 * for a response to be written.
 */
export class RedisCacheStore {
  readonly space: CacheKeySpace
  readonly counts: { -readonly [Name in keyof RedisCacheCounts]: number } = { ...zeroRedisCacheCounts }
  readonly link: Link
  readonly #pendingPurges: PendingPurges
  readonly #queue: PendingWrite[] = []
  #queuedBytes = 0
  #isWriting = false

  /** `pendingKeys`: those of generations that have ended, and of which Redis does not know yet. */
  constructor(link: Link, space: CacheKeySpace, pendingKeys: readonly string[] = []) {
    this.link = link
    this.space = space
    this.#pendingPurges = new PendingPurges(
      purgedGenerationKeys(space, { operation: null, client: null }),
      (keys, waitMs) => this.#sendRenewal(keys, waitMs),
      pendingKeys,
    )
  }

  get pendingKeys(): readonly string[] {
    return this.#pendingPurges.keys
  }

  /** Finds what is under a key; null: unknown. */
  async find(key: string, generationKeys: readonly string[]): Promise<RedisEntry | null> {
    if (this.#pendingPurges.has(generationKeys)) return null
    const reply = await this.link.run(findScript, { keys: [key, ...generationKeys], args: [maxFoundBytes] })
    if (reply === null) return null
    const entry = parseEntry(reply)
    if (entry === null) this.counts.refused++
    return entry
  }

  write(pendingWrite: PendingWrite): void {
    if (this.#queue.length >= maxQueuedWrites || this.#queuedBytes + pendingWrite.bytes > maxQueuedBytes) {
      this.counts.dropped++
      return
    }
    this.#queue.push(pendingWrite)
    this.#queuedBytes += pendingWrite.bytes
    if (!this.#isWriting) void this.#writeAll()
  }

  /** Removes keys of one base; resolves with whether Redis did. What is still to be written under it goes, too. */
  async remove(base: string, keys: readonly string[]): Promise<boolean> {
    for (const pendingWrite of this.#queue.splice(0)) {
      if (pendingWrite.base !== base) this.#queue.push(pendingWrite)
      else this.#queuedBytes -= pendingWrite.bytes
    }
    return (await this.link.run(removeScript, { keys, args: [] }, { waitMs: backgroundTimeoutMs })) !== null
  }

  /**
   * Ends generations; resolves with whether Redis knows by now. Until it does, no entry of theirs is looked up, and
   * they are sent again as soon as Redis is available.
   */
  renewGenerations(keys: readonly string[]): Promise<boolean> {
    return this.#pendingPurges.add(keys)
  }

  /**
   * Ends generations as {@link renewGenerations} does, while a request waits: no longer than for a lookup. Null: Redis
   * is not available, and there is nothing to wait for.
   */
  renewGenerationsInTime(keys: readonly string[]): Promise<boolean> | null {
    const { isShared, timeoutMs } = this.link
    const renewed = this.#pendingPurges.add(keys, timeoutMs)
    return isShared ? renewed : null
  }

  /** Tells Redis of the generations that have ended while it was not available. */
  resendRenewals(): void {
    void this.#pendingPurges.resend()
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const isStored =
        this.link.isShared &&
        (await this.link.run(storeScript, toScriptArgs(next), { waitMs: backgroundTimeoutMs })) !== null
      if (!isStored) this.counts.dropped++
      this.#queuedBytes -= next.bytes
    }
    this.#isWriting = false
  }

  async #sendRenewal(keys: readonly string[], waitMs = backgroundTimeoutMs): Promise<boolean> {
    if (!this.link.isShared) return false
    const args = [newGeneration(), generationMs]
    const keysOfSlots = this.space.isCluster ? [...Map.groupBy(keys, keySlot).values()] : [keys]
    const replies = await Promise.all(
      keysOfSlots.map((keysOfSlot) => this.link.run(renewScript, { keys: keysOfSlot, args }, { waitMs })),
    )
    return replies.every((reply) => reply !== null)
  }
}

const toScriptArgs = ({
  base,
  key,
  generationKeys,
  generations: knownGenerations,
  foundAt,
  date,
  forMs,
  isError,
  varies,
  head,
  body,
}: PendingWrite): ScriptArgs => ({
  keys: [base, key, ...generationKeys],
  args: [
    ...knownGenerations,
    newGeneration(),
    generationMs,
    String(Math.ceil(forMs)),
    varies.join(','),
    head(),
    body,
    isError ? '1' : '',
    String(date),
    String(foundAt),
  ],
})

const newGeneration = (): string => randomBytes(16).toString('hex')

const parseEntry = (reply: unknown): RedisEntry | null => {
  if (!Array.isArray(reply)) return null
  const [time, ...rest] = reply as readonly unknown[]
  const now = parseNumber(time)
  const knownGenerations = rest.slice(0, generationCount).map((each) => (each === null ? '' : parseText(each)))
  if (
    Number.isNaN(now) ||
    knownGenerations.length < generationCount ||
    !knownGenerations.every((each) => /^([0-9a-f]{32})?$/.test(each))
  )
    return null
  return { foundAt: now, generations: knownGenerations, content: parseContent(rest.slice(generationCount), now) }
}

const parseContent = ([names, time, head, body]: readonly unknown[], now: number): RedisEntryContent | null => {
  if (names instanceof Buffer) return names.length > maxNamesLength ? null : { kind: 'varies', names: parseText(names) }
  const writtenAt = parseNumber(time)
  if (Number.isNaN(writtenAt) || !(head instanceof Buffer) || !(body instanceof Buffer)) return null
  return { kind: 'response', head, body, ageMs: Math.max(0, now - writtenAt) }
}

/** Reads a short text; for anything else, one that matches no pattern. */
const parseText = (bytes: unknown): string => (bytes instanceof Buffer ? bytes.toString('latin1') : ' ')

const parseNumber = (bytes: unknown): number => {
  const text = parseText(bytes)
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}
