import { now } from '../../clock.ts'
import { type Once, type Told, unknown } from './once.ts'

/** Most keys that come within one window; of one owner, half as many. Beyond them it refuses: nothing is forgotten before its time. */
export const maxSeen = 1_000_000

/** Is how full a memory is. */
export interface SeenState {
  /** How many keys have come in this window. */
  readonly remembered: number
  /** How many may. */
  readonly room: number
}

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
  state(): SeenState {
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
