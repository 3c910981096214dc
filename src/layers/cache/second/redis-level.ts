import { inTime, wallClock } from '../../../clock.ts'
import type { Notices, SecondLevel, Sighting } from '../fetching.ts'
import type { Part } from '../part.ts'
import type { CacheRequest, CacheRules } from '../policy/request.ts'
import { keepsPlace } from '../policy/reuse.ts'
import { select, selectingKey } from '../policy/selecting.ts'
import { isServerError } from '../policy/statuses.ts'
import { type StoredHead, servedUntil } from '../policy/stored.ts'
import { hasValidator } from '../policy/validators.ts'
import type { Name, Reservation } from '../store.ts'
import { ownCopy, StoredBody } from '../stored.ts'
import { baseKey, generationKeys, variantKey } from './keys.ts'
import { type Asked, decode, encode, headOf, type Recorded } from './record.ts'
import { longestMs, mostBytes, type RedisStore } from './redis-store.ts'

/** Is what a level is made from. */
export interface LevelOptions {
  readonly store: RedisStore
  readonly part: Part
  readonly rules: CacheRules
  readonly notices: Notices
  /** Says by which configuration answers are what they are: gateways with another one store apart. */
  readonly shape: string
}

/** Is what was read under a key. */
interface Read {
  /** The generations as they were; null: nobody knows. */
  readonly generations: readonly string[] | null
  /** Names of the fields that tell one from another; null: it is not that there are several. */
  readonly names: readonly string[] | null
  readonly answer: ReadAnswer | null
}

interface ReadAnswer {
  readonly record: Recorded
  readonly body: StoredBody
  readonly ageMs: number
  /** When it was asked for: it was not younger then. */
  readonly askedAt: number
}

interface Asking {
  readonly reservation: Reservation
  readonly read: Promise<Read>
}

// An answer that can be validated is of use when it may not be served any more: it spares its body.
const validatedMs = 3_600_000

const unknown: Read = { generations: null, names: null, answer: null }

/** The second level of one operation. Whoever asks for the same at the same time asks once. */
export class RedisLevel implements SecondLevel {
  readonly #options: LevelOptions
  readonly #asking = new Map<string, Asking>()

  constructor(options: LevelOptions) {
    this.#options = options
  }

  sight(name: Name, key: string, request: CacheRequest): Sighting | null {
    const { store, part, shape } = this.#options
    if (!store.link.isShared) return null
    const base = baseKey(store.prefix, shape, part.operation, name)
    const first = this.#read(name, base)
    return {
      brought: inTime(this.#bring(name, key, base, request, first), store.link.timeoutMs).then(nothing),
      store: ({ head, body }) => void first.then(({ generations }) => this.#store(name, base, head, body, generations)),
      remove: () => store.remove(base),
    }
  }

  /** Brings what is there into memory. Never rejects. */
  async #bring(name: Name, key: string, base: string, request: CacheRequest, first: Promise<Read>): Promise<void> {
    const { part, rules, store, notices } = this.#options
    const reservation = part.reserve(name)
    try {
      let read = await first
      if (read.names !== null) read = await this.#read(name, variantKey(base, selectingKey(read.names, request)))
      const { answer } = read
      if (answer === null) return
      const { record, body, askedAt, ageMs } = answer
      const head = headOf(record, body.bytes.length, { request, rules, now: askedAt, ageMs })
      if (head === null || head.bytes + body.bytes.length > rules.maxEntry) return
      const present = select(part.find(key)?.variants ?? [], request)
      if (present !== null && staysBefore(present.head, head, request, askedAt)) return
      store.counts.found++
      part.put(reservation, { head, body }, (other) => other === present || select([other], request) !== null)
    } catch (error) {
      notices.broken(error)
    } finally {
      reservation.release()
    }
  }

  /** Reads what is under a key, once for all who want it. What became invalid meanwhile is not for those who come after. */
  #read(name: Name, key: string): Promise<Read> {
    const under = this.#asking.get(key)
    if (under !== undefined && !under.reservation.isVoid) return under.read
    const reservation = this.#options.part.reserve(name)
    const read = this.#find(name, key).finally(() => {
      reservation.release()
      if (this.#asking.get(key)?.reservation === reservation) this.#asking.delete(key)
    })
    this.#asking.set(key, { reservation, read })
    return read
  }

  async #find(name: Name, key: string): Promise<Read> {
    const { store, part } = this.#options
    const askedAt = wallClock()
    const found = await store.find(key, generationKeys(store.prefix, part.operation, name))
    if (found === null) return unknown
    const { generations, content } = found
    if (content === null) return { ...unknown, generations }
    if (content.kind === 'varies') return { ...unknown, generations, names: content.names.split(',') }
    const { head, body, ageMs } = content
    const record = decode(this.#asked(name), head, body)
    if (record === null) store.counts.refused++
    const answer = record && { record, body: new StoredBody(ownCopy(body)), ageMs, askedAt }
    return { generations, names: null, answer }
  }

  #store(name: Name, base: string, head: StoredHead, body: StoredBody, generations: readonly string[] | null): void {
    const { store, part } = this.#options
    const bytes = head.bytes + body.bytes.length
    const forMs = usefulMs(head)
    const isError = isServerError(head.status)
    // What is there already is older, and would be used on: what may stand in for an error is.
    if (bytes > mostBytes || forMs <= 0) return isError ? undefined : store.remove(base)
    if (generations === null) return
    store.write({
      base,
      key: head.varies.length === 0 ? base : variantKey(base, head.selecting),
      generationKeys: generationKeys(store.prefix, part.operation, name),
      generations,
      forMs,
      isError,
      varies: head.varies,
      bytes,
      head: () => encode(this.#asked(name), head, body.bytes, wallClock()),
      body: body.bytes,
    })
  }

  #asked(name: Name): Asked {
    const { part, shape } = this.#options
    return { operation: part.operation, shape, client: name.client, site: name.site, query: name.query }
  }
}

/** Tells whether what is in memory stays, and not what was found. */
const staysBefore = (present: StoredHead, found: StoredHead, request: CacheRequest, now: number): boolean => {
  if (keepsPlace(found, present.status, request, now)) return false
  return keepsPlace(present, found.status, request, now) || present.receivedAt >= found.receivedAt
}

/** Tells for how long an answer may be of any use: an error no longer than it is fresh, so that it keeps no other out. */
const usefulMs = (head: StoredHead): number => {
  const isValidatedLater = hasValidator(head) && !isServerError(head.status)
  return Math.min(longestMs, servedUntil(head) - wallClock() + (isValidatedLater ? validatedMs : 0))
}

const nothing = (): void => {}
