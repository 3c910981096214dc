import { now } from '../../clock.ts'
import { type AskAll, batched } from '../limiter/batch.ts'
import type { RedisLink } from '../redis/link.ts'

/**
 * Tells whether something comes for the first time: positive when it does, negative when it came before, 0 when nobody can tell. Numbers,
 * because other processes and Redis answer with them.
 */
export type Told = number

/** Tells of each key whether it comes for the first time within a window. */
export interface Once {
  /**
   * Notes a key, which somebody has brought whose room it takes: at once, or soon, when somebody else has to be asked. Never rejects, and nobody
   * who cannot tell says that it is the first time. A key has no blanks.
   */
  note(key: string, owner: string): Told | Promise<Told>
}

/** Is what is said of a key that nobody can tell anything about. */
export const unknown: Told = 0

/** Tells whether a key came for the first time. */
export const isFirst = (told: Told): boolean => told > 0

/** Writes in one text what another process is asked. */
export const questionOf = (key: string, owner: string): string => `${key} ${owner}`

/** Reads it. The key is a string of its own: what was cut out of a text would keep all of that in memory. */
export const readQuestion = (question: string): readonly [key: string, owner: string] => {
  const end = question.indexOf(' ')
  return [Buffer.from(question.slice(0, end), 'latin1').toString('latin1'), question.slice(end + 1)]
}

/** How long an answer is waited for that nothing can stand in for, in milliseconds. */
export const needMs = 1000

/** Has another process remember for several that serve. Where it does not answer in time, nobody can tell. */
export const askingOnce = (askAll: AskAll<string, Told>, withinMs: number): Once => {
  const ask = batched(askAll, withinMs)
  return { note: (key, owner) => ask(questionOf(key, owner)).then((told) => told ?? unknown) }
}

/** Is how several gateways remember together. */
interface Together {
  readonly link: Pick<RedisLink, 'isShared' | 'take'>
  /** What every key begins with. */
  readonly prefix: string
  readonly windowMs: number
  /** What is said of a key that is new here while Redis cannot be asked: `refuse`, that nobody can tell; `serve`, that it is the first time. */
  readonly otherwise: 'refuse' | 'serve'
}

/**
 * Remembers in Redis what is new here. This gateway's own memory is asked first and always: whatever happens to Redis, nothing that came here
 * comes again. In Redis a key is a bucket with room for one, which drains in a window.
 */
export const redisOnce = ({ link, prefix, windowMs, otherwise }: Together, here: Once): Once => {
  const alone = otherwise === 'serve' ? 1 : unknown
  const waitMs = otherwise === 'serve' ? undefined : needMs
  const noteThere = async (key: string): Promise<Told> => {
    if (!link.isShared) return alone
    return (await link.take(prefix + key, 1 / windowMs, 1, waitMs)) ?? alone
  }
  return {
    async note(key, owner) {
      const told = await here.note(key, owner)
      return isFirst(told) ? noteThere(key) : told
    },
  }
}

/** Most keys that come within one window; of one owner, half as many. Beyond them it refuses: nothing is forgotten before its time. */
export const maxSeen = 1_000_000

/** How full a memory is: how many keys have come in this window, and how many may. */
export type SeenState = ReturnType<Seen['state']>

/**
 * Remembers keys in memory, for one window at least and two at most: those of this window and those of the one before. What has come is never
 * forgotten for want of room, as a count may be: whoever brings so many that there is none has nobody else's proof accepted twice. Nor has he
 * others refused: nobody takes more room than is left, so n who take all that they can leave an (n+1)th of it free.
 */
export class Seen implements Once {
  #windowMs: number
  readonly #max: number
  #young = new Set<string>()
  /** How many of the young are whose. */
  #owned = new Map<string, number>()
  #old = new Set<string>()
  #turnedAt = now()

  constructor(windowMs: number, max: number = maxSeen) {
    this.#windowMs = windowMs
    this.#max = max
  }

  /** Tells how much of its room is taken. */
  state() {
    this.#turn()
    return { remembered: this.#young.size, room: this.#max }
  }

  /** Remembers for longer from now on, if that is longer. */
  widen(windowMs: number): void {
    this.#windowMs = Math.max(this.#windowMs, windowMs)
  }

  note(key: string, owner: string): Told {
    this.#turn()
    if (this.#young.has(key) || this.#old.has(key)) return -1
    const owned = this.#owned.get(owner) ?? 0
    if (owned >= this.#max - this.#young.size) return unknown
    this.#owned.set(owner, owned + 1)
    this.#young.add(key)
    return 1
  }

  #turn(): void {
    const at = now()
    const age = at - this.#turnedAt
    if (age < this.#windowMs) return
    // After two windows in which nothing came, the young have had their time as well.
    this.#old = age < 2 * this.#windowMs ? this.#young : new Set()
    this.#young = new Set()
    this.#owned = new Map()
    this.#turnedAt = at
  }
}
