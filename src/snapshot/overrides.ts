import type { OperationId } from '../catalog.ts'
import { Alarm, wallClock } from '../clock.ts'
import type { OperationConfig } from '../config/config.ts'

/** Says what an operator has said of an operation for a while, whatever the configuration says. */
export interface Override {
  readonly state: OperationConfig['state']
  /** Milliseconds since the epoch. */
  readonly until: number
}

/**
 * Keeps the operator's overrides, each with a time to live: what was done in an emergency does not stay for ever. They outlive a reload,
 * and end with the process.
 */
export class Overrides {
  readonly #onExpiry: (id: OperationId) => void
  readonly #held = new Map<OperationId, { readonly override: Override; readonly alarm: Alarm }>()

  /** `onExpiry` is told which one has ended of itself. */
  constructor(onExpiry: (id: OperationId) => void = () => {}) {
    this.#onExpiry = onExpiry
  }

  /** Finds what holds of an operation just now; null: what the configuration says. */
  of(id: OperationId): Override | null {
    return this.#held.get(id)?.override ?? null
  }

  /** Overrides an operation, in place of what was said before. */
  set(id: OperationId, state: Override['state'], ttlMs: number): Override {
    this.end(id)
    const alarm = new Alarm(() => {
      this.#held.delete(id)
      this.#onExpiry(id)
    })
    alarm.set(ttlMs)
    const override = { state, until: wallClock() + ttlMs }
    this.#held.set(id, { override, alarm })
    return override
  }

  /** Ends an override early. */
  end(id: OperationId): void {
    this.#held.get(id)?.alarm.clear()
    this.#held.delete(id)
  }

  /** Ends all of them, so that no timer is left. */
  clear(): void {
    for (const id of [...this.#held.keys()]) this.end(id)
  }
}
