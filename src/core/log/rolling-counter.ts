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
