const slotMs = 10_000
const slotCount = 90

/** Numbers the ten seconds since the epoch. */
export const slotOf = (at: number): number => Math.trunc(at / slotMs)

/** Counts over the last fifteen minutes, ten seconds to a slot. */
export class RollingCounter {
  readonly #counts: number[] = new Array(slotCount).fill(0)
  /** Which ten seconds since the epoch each slot counts. */
  readonly #slotNumbers: number[] = new Array(slotCount).fill(-slotCount)

  count(at: number): void {
    const number = slotOf(at)
    const slot = number % slotCount
    if (this.#slotNumbers[slot] !== number) {
      this.#slotNumbers[slot] = number
      this.#counts[slot] = 0
    }
    this.#counts[slot] = (this.#counts[slot] as number) + 1
  }

  /** Counts the events of the last `ms`, the running slot included. */
  countWithin(at: number, ms: number): number {
    const to = slotOf(at)
    const after = to - ms / slotMs
    return this.#counts.reduce(
      (sum, count, i) => (isBetween(this.#slotNumbers[i] as number, after, to) ? sum + count : sum),
      0,
    )
  }

  /** Finds when the first event of the last fifteen minutes came, to ten seconds; null: there was none. */
  firstAt(at: number): number | null {
    const to = slotOf(at)
    const numbers = this.#slotNumbers.filter((number) => isBetween(number, to - slotCount, to))
    return numbers.length === 0 ? null : Math.min(...numbers) * slotMs
  }
}

// Without the upper limit, events counted before the clock was set back would stay in the last minute until it has
// caught up.
const isBetween = (number: number, after: number, to: number): boolean => number > after && number <= to

/** A map of at most `max` values. A full one makes room by dropping what is stale, once in ten seconds at most. */
export class BoundedMap<Value> {
  readonly #max: number
  readonly #isStale: (value: Value, at: number) => boolean
  readonly #onDrop: (value: Value) => void
  readonly #values = new Map<string, Value>()
  /** The ten seconds of the last sweep: a full map must not cost one for each value that finds no room. */
  #lastSweptSlot: number | null = null

  constructor(max: number, isStale: (value: Value, at: number) => boolean, onDrop: (value: Value) => void = () => {}) {
    this.#max = max
    this.#isStale = isStale
    this.#onDrop = onDrop
  }

  get values(): readonly Value[] {
    return [...this.#values.values()]
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  /** Adds a value that is not there yet. False: there is no room. */
  add(key: string, value: Value, at: number): boolean {
    if (this.#values.size >= this.#max && this.#lastSweptSlot !== slotOf(at)) this.#sweep(at)
    if (this.#values.size >= this.#max) return false
    this.#values.set(key, value)
    return true
  }

  delete(key: string): void {
    this.#values.delete(key)
  }

  #sweep(at: number): void {
    this.#lastSweptSlot = slotOf(at)
    for (const [key, value] of this.#values)
      if (this.#isStale(value, at)) {
        this.#values.delete(key)
        this.#onDrop(value)
      }
  }
}
