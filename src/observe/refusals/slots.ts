const slotMs = 10_000
const all = 90

/** Counts over the last quarter of an hour, ten seconds to a slot. */
export class Slots {
  readonly #counts: number[] = new Array(all).fill(0)
  /** Which ten seconds since the epoch each slot counts. */
  readonly #numbers: number[] = new Array(all).fill(-all)

  count(at: number): void {
    const number = Math.trunc(at / slotMs)
    const slot = number % all
    if (this.#numbers[slot] !== number) {
      this.#numbers[slot] = number
      this.#counts[slot] = 0
    }
    this.#counts[slot] = (this.#counts[slot] as number) + 1
  }

  /** Tells how many there were in the last `ms`, the running slot among them. */
  within(at: number, ms: number): number {
    const after = Math.trunc(at / slotMs) - ms / slotMs
    return this.#counts.reduce((sum, count, i) => ((this.#numbers[i] as number) > after ? sum + count : sum), 0)
  }

  /** Tells when the first of the last quarter of an hour began, to ten seconds; null: there was none. */
  firstAt(at: number): number | null {
    const after = Math.trunc(at / slotMs) - all
    const numbers = this.#numbers.filter((number) => number > after)
    return numbers.length === 0 ? null : Math.min(...numbers) * slotMs
  }
}
