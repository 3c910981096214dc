import { randomBytes } from 'node:crypto'
import type { ManagedRedis } from '../../../shared/redis/managed-redis.ts'
import type { ScriptArgs } from '../../../shared/redis/redis-connection.ts'
import { generationCount, purgedGenerationKeys } from './redis-keys.ts'
import { findScript, removeScript, renewScript, storeScript } from './scripts.ts'

/** Is what was found in Redis. */
export interface RedisEntry {
  /** The generations as they were; empty: there was none. */
  readonly generations: readonly string[]
  readonly content: RedisEntryContent | null
}

/** Is what is under a key: what answers vary by, or one of them. */
export type RedisEntryContent =
  | { readonly kind: 'varies'; readonly names: string }
  | { readonly kind: 'answer'; readonly head: Buffer; readonly body: Buffer; readonly ageMs: number }

/** Is an answer that is to be written. */
export interface PendingWrite {
  readonly base: string
  readonly key: string
  readonly generationKeys: readonly string[]
  readonly generations: readonly string[]
  /** For how long it may be of use, in milliseconds. */
  readonly forMs: number
  /** Whether it is a server error: it is written only where nothing is. */
  readonly isError: boolean
  readonly varies: readonly string[]
  readonly bytes: number
  /** Makes its head when its turn has come. */
  head(): Buffer
  readonly body: Buffer
}

/** Longest that an answer is of use, in milliseconds. */
export const maxLifetimeMs = 7 * 24 * 3_600_000

// Whatever is of a generation that nobody knows any more has gone before it.
const generationMs = String(maxLifetimeMs + 24 * 3_600_000)

/** Most bytes of an answer: what is asked for next waits until it has come, on the same connection. */
export const maxSharedBytes = 1024 * 1024

// Its head is a little longer when it is written.
const maxFoundBytes = String(maxSharedBytes + 128 * 1024)

// Of the names of fields that answers vary by.
const maxNamesLength = 4096

// What waits to be written. Beyond that, an answer is not shared.
const maxQueuedBytes = 16 * 1024 * 1024
const maxQueuedWrites = 1000

// Nobody waits for these.
const backgroundTimeoutMs = 1000

/** What is counted of a Redis that gateways store in. Several workers' add up, and /status shows each. */
export const zeroRedisCacheCounts = {
  /** Answers that were found and used. */
  found: 0,
  /** Answers that were no records, or not of what was asked for. */
  refused: 0,
  /** Answers that were not written: too much was waiting, or Redis did not take them. */
  dropped: 0,
}

/** The counts of such a Redis. They never become less. */
export type RedisCacheCounts = Readonly<typeof zeroRedisCacheCounts>

type Link = Pick<ManagedRedis, 'isShared' | 'timeoutMs' | 'run'>

/** Is the Redis in which several gateways store, for all operations of this one. Nothing here rejects, and nobody is held up by what is written. */
export class RedisCacheStore {
  readonly prefix: string
  readonly counts: { -readonly [Name in keyof RedisCacheCounts]: number } = { ...zeroRedisCacheCounts }
  readonly link: Link
  readonly #pendingPurges: PendingPurges
  readonly #queue: PendingWrite[] = []
  #queuedBytes = 0
  #isWriting = false

  constructor(link: Link, prefix: string) {
    this.link = link
    this.prefix = prefix
    this.#pendingPurges = new PendingPurges(purgedGenerationKeys(prefix, { operation: null, client: null }), (keys) =>
      this.#sendRenewal(keys),
    )
  }

  /** Looks for what is under a key; null: nobody knows. */
  async find(key: string, generationKeys: readonly string[]): Promise<RedisEntry | null> {
    if (this.#pendingPurges.has(generationKeys)) return null
    const reply = await this.link.run(findScript, { keys: [key, ...generationKeys], args: [maxFoundBytes] })
    if (reply === null) return null
    const entry = parseEntry(reply)
    if (entry === null) this.counts.refused++
    return entry
  }

  /** Writes an answer when its turn comes. */
  write(pendingWrite: PendingWrite): void {
    if (this.#queue.length >= maxQueuedWrites || this.#queuedBytes + pendingWrite.bytes > maxQueuedBytes) {
      this.counts.dropped++
      return
    }
    this.#queue.push(pendingWrite)
    this.#queuedBytes += pendingWrite.bytes
    if (!this.#isWriting) void this.#writeAll()
  }

  /** Removes what is under a key, and what it says of others. */
  remove(base: string): void {
    void this.link.run(removeScript, { keys: [base], args: [] }, backgroundTimeoutMs)
  }

  /**
   * Ends generations; tells whether Redis knows by now. Until it does, nothing of these is looked for, and as soon as it can be asked again, it is
   * told.
   */
  renewGenerations(keys: readonly string[]): Promise<boolean> {
    return this.#pendingPurges.add(keys)
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const isStored =
        this.link.isShared && (await this.link.run(storeScript, toScriptArgs(next), backgroundTimeoutMs)) !== null
      if (!isStored) this.counts.dropped++
      this.#queuedBytes -= next.bytes
    }
    this.#isWriting = false
  }

  async #sendRenewal(keys: readonly string[]): Promise<boolean> {
    if (!this.link.isShared) return false
    const scriptArgs = { keys, args: [newGeneration(), generationMs] }
    return (await this.link.run(renewScript, scriptArgs, backgroundTimeoutMs)) !== null
  }
}

const toScriptArgs = ({
  base,
  key,
  generationKeys,
  generations: knownGenerations,
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
  ],
})

const newGeneration = (): string => randomBytes(16).toString('hex')

/** Reads what Redis says; null: that is not what it was asked. */
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
  return { generations: knownGenerations, content: parseContent(rest.slice(generationCount), now) }
}

const parseContent = ([names, time, head, body]: readonly unknown[], now: number): RedisEntryContent | null => {
  if (names instanceof Buffer) return names.length > maxNamesLength ? null : { kind: 'varies', names: parseText(names) }
  const writtenAt = parseNumber(time)
  if (Number.isNaN(writtenAt) || !(head instanceof Buffer) || !(body instanceof Buffer)) return null
  return { kind: 'answer', head, body, ageMs: Math.max(0, now - writtenAt) }
}

/** Reads a short text; nothing that is not one. */
const parseText = (bytes: unknown): string => (bytes instanceof Buffer ? bytes.toString('latin1') : ' ')

const parseNumber = (bytes: unknown): number => {
  const text = parseText(bytes)
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}

// Beyond so many, everything is owed: what is told of all operations is told of each of these.
const maxPending = 10_000
const batchSize = 500

/**
 * Is what Redis has to be told and does not know yet. While it is down, what it has goes on being there, and when it is back it must not be believed
 * before it knows.
 */
export class PendingPurges {
  readonly #send: (keys: readonly string[]) => Promise<boolean>
  readonly #all: readonly string[]
  /** By key, when it was owed last: what is owed again while it is told stays owed. */
  readonly #keys = new Map<string, number>()
  #last = 0
  #sending = 0

  /** `all`: of which each answer has one at least. */
  constructor(all: readonly string[], send: (keys: readonly string[]) => Promise<boolean>) {
    this.#all = all
    this.#send = send
  }

  /** Tells whether any of these is owed; if so, what is owed is told again. */
  has(keys: readonly string[]): boolean {
    if (this.#keys.size === 0) return false
    if (this.#sending === 0) void this.#sendAll([...this.#keys.keys()].slice(0, batchSize))
    return keys.some((key) => this.#keys.has(key))
  }

  /** Owes these, and tells them; resolves with whether that was heard. */
  add(keys: readonly string[]): Promise<boolean> {
    for (const key of keys) this.#keys.set(key, ++this.#last)
    if (this.#keys.size > maxPending) {
      this.#keys.clear()
      for (const key of this.#all) this.#keys.set(key, ++this.#last)
    }
    return this.#sendAll(keys)
  }

  async #sendAll(keys: readonly string[]): Promise<boolean> {
    const when = new Map(keys.map((key) => [key, this.#keys.get(key)]))
    this.#sending++
    const isAcknowledged = await this.#send(keys)
    this.#sending--
    if (isAcknowledged) for (const [key, last] of when) if (this.#keys.get(key) === last) this.#keys.delete(key)
    return isAcknowledged
  }
}
