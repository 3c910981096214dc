const slotMs = 10_000
const all = 90

/** Tells which ten seconds since the epoch it is. */
export const slotOf = (at: number): number => Math.trunc(at / slotMs)

/** Counts over the last quarter of an hour, ten seconds to a slot. */
export class Slots {
  readonly #counts: number[] = new Array(all).fill(0)
  /** Which ten seconds since the epoch each slot counts. */
  readonly #numbers: number[] = new Array(all).fill(-all)

  count(at: number): void {
    const number = slotOf(at)
    const slot = number % all
    if (this.#numbers[slot] !== number) {
      this.#numbers[slot] = number
      this.#counts[slot] = 0
    }
    this.#counts[slot] = (this.#counts[slot] as number) + 1
  }

  /** Tells how many there were in the last `ms`, the running slot among them. */
  within(at: number, ms: number): number {
    const to = slotOf(at)
    const after = to - ms / slotMs
    return this.#counts.reduce(
      (sum, count, i) => (isBetween(this.#numbers[i] as number, after, to) ? sum + count : sum),
      0,
    )
  }

  /** Tells when the first of the last quarter of an hour began, to ten seconds; null: there was none. */
  firstAt(at: number): number | null {
    const to = slotOf(at)
    const numbers = this.#numbers.filter((number) => isBetween(number, to - all, to))
    return numbers.length === 0 ? null : Math.min(...numbers) * slotMs
  }
}

// What was counted by a clock that has been set back since would otherwise be of the last minute until it has come round.
const isBetween = (number: number, after: number, to: number): boolean => number > after && number <= to
