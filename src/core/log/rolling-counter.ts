import { sum } from './sum-reports.ts'

const slotMs = 10_000
const slotCount = 90

export const slotOf = (at: number): number => Math.trunc(at / slotMs)

/** Counts over the last 15 minutes, ten seconds to a slot. */
export class RollingCounter {
  readonly #counts: number[] = new Array(slotCount).fill(0)
  /** The ten seconds since the epoch that each slot counts. */
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

  countWithin(at: number, ms: number): number {
    const to = slotOf(at)
    const after = to - ms / slotMs
    const isCounted = (_: number, i: number): boolean => isBetween(this.#slotNumbers[i] as number, after, to)
    return sum(this.#counts.filter(isCounted))
  }

  /** To ten seconds, within the last 15 minutes; null: no event. */
  firstAt(at: number): number | null {
    const to = slotOf(at)
    const numbers = this.#slotNumbers.filter((number) => isBetween(number, to - slotCount, to))
    return numbers.length === 0 ? null : Math.min(...numbers) * slotMs
  }

  /** `firstAt` in ms since the epoch. */
  report(at: number) {
    return {
      lastMinute: this.countWithin(at, 60_000),
      last15Min: this.countWithin(at, 900_000),
      firstAt: this.firstAt(at),
    }
  }
}

// The upper limit keeps later events out when the clock was set back.
const isBetween = (number: number, after: number, to: number): boolean => number > after && number <= to

/** A full map drops stale values, once in ten seconds at most. */
export const createBoundedMap = <Value>(
  max: number,
  isStale: (value: Value, at: number) => boolean,
  onDrop: (value: Value) => void = () => {},
) => {
  const values = new Map<string, Value>()
  /** A full map must not sweep for each value without room. */
  let lastSweptSlot: number | null = null
  const sweep = (at: number): void => {
    lastSweptSlot = slotOf(at)
    for (const [key, value] of values) if (isStale(value, at) && values.delete(key)) onDrop(value)
  }
  return {
    values: (): readonly Value[] => [...values.values()],
    get: (key: string): Value | undefined => values.get(key),
    /** Adds a value that is not there yet; false: no room. */
    add(key: string, value: Value, at: number): boolean {
      if (values.size >= max && lastSweptSlot !== slotOf(at)) sweep(at)
      if (values.size >= max) return false
      values.set(key, value)
      return true
    },
    delete: (key: string): void => void values.delete(key),
  }
}
