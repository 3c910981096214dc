import { slotOf } from './rolling-counter.ts'

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
