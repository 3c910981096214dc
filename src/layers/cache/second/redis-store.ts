import { randomBytes } from 'node:crypto'
import type { Given } from '../../../shared/redis/client.ts'
import type { RedisLink } from '../../../shared/redis/link.ts'
import { clearedKeys, generations } from './keys.ts'
import { findScript, removeScript, renewScript, storeScript } from './scripts.ts'

/** Is what was found in Redis. */
export interface Found {
  /** The generations as they were; empty: there was none. */
  readonly generations: readonly string[]
  readonly content: Content | null
}

/** Is what is under a key: what answers vary by, or one of them. */
export type Content =
  | { readonly kind: 'varies'; readonly names: string }
  | { readonly kind: 'answer'; readonly head: Buffer; readonly body: Buffer; readonly ageMs: number }

/** Is an answer that is to be written. */
export interface Written {
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
export const longestMs = 7 * 24 * 3_600_000

// Whatever is of a generation that nobody knows any more has gone before it.
const generationMs = String(longestMs + 24 * 3_600_000)

/** Most bytes of an answer: what is asked for next waits until it has come, on the same connection. */
export const mostBytes = 1024 * 1024

// Its head is a little longer when it is written.
const mostFoundBytes = String(mostBytes + 128 * 1024)

// Of the names of fields that answers vary by.
const longestNames = 4096

// What waits to be written. Beyond that, an answer is not shared.
const mostWaitingBytes = 16 * 1024 * 1024
const mostWaiting = 1000

// Nobody waits for these.
const behindMs = 1000

/** What is counted of a Redis that gateways store in. Several workers' add up, and /status shows each. */
export const noStoreCounts = {
  /** Answers that were found and used. */
  found: 0,
  /** Answers that were no records, or not of what was asked for. */
  refused: 0,
  /** Answers that were not written: too much was waiting, or Redis did not take them. */
  dropped: 0,
}

/** The counts of such a Redis. They never become less. */
export type StoreCounts = Readonly<typeof noStoreCounts>

type Link = Pick<RedisLink, 'isShared' | 'timeoutMs' | 'run'>

/** Is the Redis in which several gateways store, for all operations of this one. Nothing here rejects, and nobody is held up by what is written. */
export class RedisStore {
  readonly prefix: string
  readonly counts: { -readonly [Name in keyof StoreCounts]: number } = { ...noStoreCounts }
  readonly link: Link
  readonly #owed: Owed
  readonly #waiting: Written[] = []
  #waitingBytes = 0
  #isWriting = false

  constructor(link: Link, prefix: string) {
    this.link = link
    this.prefix = prefix
    this.#owed = new Owed(clearedKeys(prefix, { operation: null, client: null }), (keys) => this.#renew(keys))
  }

  /** Looks for what is under a key; null: nobody knows. */
  async find(key: string, generationKeys: readonly string[]): Promise<Found | null> {
    if (this.#owed.has(generationKeys)) return null
    const answer = await this.link.run(findScript, { keys: [key, ...generationKeys], args: [mostFoundBytes] })
    if (answer === null) return null
    const found = foundIn(answer)
    if (found === null) this.counts.refused++
    return found
  }

  /** Writes an answer when its turn comes. */
  write(written: Written): void {
    if (this.#waiting.length >= mostWaiting || this.#waitingBytes + written.bytes > mostWaitingBytes) {
      this.counts.dropped++
      return
    }
    this.#waiting.push(written)
    this.#waitingBytes += written.bytes
    if (!this.#isWriting) void this.#writeAll()
  }

  /** Removes what is under a key, and what it says of others. */
  remove(base: string): void {
    void this.link.run(removeScript, { keys: [base], args: [] }, behindMs)
  }

  /**
   * Ends generations; tells whether Redis knows by now. Until it does, nothing of these is looked for, and as soon as it can be asked again, it is
   * told.
   */
  renew(keys: readonly string[]): Promise<boolean> {
    return this.#owed.add(keys)
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const isTaken = this.link.isShared && (await this.link.run(storeScript, givenFor(next), behindMs)) !== null
      if (!isTaken) this.counts.dropped++
      this.#waitingBytes -= next.bytes
    }
    this.#isWriting = false
  }

  async #renew(keys: readonly string[]): Promise<boolean> {
    if (!this.link.isShared) return false
    const given = { keys, args: [newGeneration(), generationMs] }
    return (await this.link.run(renewScript, given, behindMs)) !== null
  }
}

const givenFor = ({
  base,
  key,
  generationKeys,
  generations: seen,
  forMs,
  isError,
  varies,
  head,
  body,
}: Written): Given => ({
  keys: [base, key, ...generationKeys],
  args: [
    ...seen,
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
const foundIn = (answer: unknown): Found | null => {
  if (!Array.isArray(answer)) return null
  const [time, ...rest] = answer as readonly unknown[]
  const now = numberIn(time)
  const seen = rest.slice(0, generations).map((each) => (each === null ? '' : textIn(each)))
  if (Number.isNaN(now) || seen.length < generations || !seen.every((each) => /^([0-9a-f]{32})?$/.test(each)))
    return null
  return { generations: seen, content: contentIn(rest.slice(generations), now) }
}

const contentIn = ([names, time, head, body]: readonly unknown[], now: number): Content | null => {
  if (names instanceof Buffer) return names.length > longestNames ? null : { kind: 'varies', names: textIn(names) }
  const writtenAt = numberIn(time)
  if (Number.isNaN(writtenAt) || !(head instanceof Buffer) || !(body instanceof Buffer)) return null
  return { kind: 'answer', head, body, ageMs: Math.max(0, now - writtenAt) }
}

/** Reads a short text; nothing that is not one. */
const textIn = (bytes: unknown): string => (bytes instanceof Buffer ? bytes.toString('latin1') : ' ')

const numberIn = (bytes: unknown): number => {
  const text = textIn(bytes)
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}

// Beyond so many, everything is owed: what is told of all operations is told of each of these.
const most = 10_000
const atOnce = 500

/**
 * Is what Redis has to be told and does not know yet. While it is down, what it has goes on being there, and when it is back it must not be believed
 * before it knows.
 */
export class Owed {
  readonly #tell: (keys: readonly string[]) => Promise<boolean>
  readonly #all: readonly string[]
  /** By key, when it was owed last: what is owed again while it is told stays owed. */
  readonly #keys = new Map<string, number>()
  #last = 0
  #telling = 0

  /** `all`: of which each answer has one at least. */
  constructor(all: readonly string[], tell: (keys: readonly string[]) => Promise<boolean>) {
    this.#all = all
    this.#tell = tell
  }

  /** Tells whether any of these is owed; if so, what is owed is told again. */
  has(keys: readonly string[]): boolean {
    if (this.#keys.size === 0) return false
    if (this.#telling === 0) void this.#tellAll([...this.#keys.keys()].slice(0, atOnce))
    return keys.some((key) => this.#keys.has(key))
  }

  /** Owes these, and tells them; resolves with whether that was heard. */
  add(keys: readonly string[]): Promise<boolean> {
    for (const key of keys) this.#keys.set(key, ++this.#last)
    if (this.#keys.size > most) {
      this.#keys.clear()
      for (const key of this.#all) this.#keys.set(key, ++this.#last)
    }
    return this.#tellAll(keys)
  }

  async #tellAll(keys: readonly string[]): Promise<boolean> {
    const when = new Map(keys.map((key) => [key, this.#keys.get(key)]))
    this.#telling++
    const isHeard = await this.#tell(keys)
    this.#telling--
    if (isHeard) for (const [key, last] of when) if (this.#keys.get(key) === last) this.#keys.delete(key)
    return isHeard
  }
}
