import type { Group, OperationId } from '../catalog.ts'
import type { Config } from '../config/config.ts'
import type { Handle } from '../exchange.ts'
import type { RetryBudget } from '../layers/retry/retry.ts'
import type { Auditor } from '../observe/audit/line.ts'
import type { Recorder } from '../observe/exchanged.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { HeldCaches } from './caches.ts'
import type { Guard } from './guard.ts'
import type { Pressure } from './pressure.ts'
import type { Rates } from './rate-limits.ts'
import type { Observation } from './recorders.ts'

/** Is what a snapshot consists of. */
export interface Parts {
  readonly config: Config
  readonly handles: Readonly<Record<OperationId, Handle>>
  readonly upstreams: Readonly<Record<Group, Upstream>>
  /** How many retries each upstream still has; null: they are off. */
  readonly budgets: Readonly<Record<Group, RetryBudget | null>>
  /** How much the process has to do, all its snapshots together. */
  readonly pressure: Pressure
  /** What counts by rate. */
  readonly rates: Rates
  /** Knows who calls. */
  readonly guard: Guard
  /** Has what is stored. */
  readonly caches: HeldCaches
  /** Takes the lines of the process. */
  readonly auditor: Auditor
  /** What the process has seen. */
  readonly observation: Observation
  /** Those who hear of every exchange, in that order. */
  readonly recorders: readonly Recorder[]
}

/** Is one configuration as running objects: nine handles and the upstreams they use. Never changed, only replaced. */
export class Snapshot implements Parts {
  readonly config: Config
  readonly handles: Parts['handles']
  readonly upstreams: Parts['upstreams']
  readonly budgets: Parts['budgets']
  readonly pressure: Pressure
  readonly rates: Rates
  readonly guard: Guard
  readonly caches: HeldCaches
  readonly auditor: Auditor
  readonly observation: Observation
  readonly recorders: readonly Recorder[]
  readonly #release: () => Promise<void>
  #inFlight = 0
  #whenIdle: (() => void) | null = null

  /** `release` gives back what it stands on. */
  constructor(parts: Parts, release: () => Promise<void>) {
    this.config = parts.config
    this.handles = parts.handles
    this.upstreams = parts.upstreams
    this.budgets = parts.budgets
    this.pressure = parts.pressure
    this.rates = parts.rates
    this.guard = parts.guard
    this.caches = parts.caches
    this.auditor = parts.auditor
    this.observation = parts.observation
    this.recorders = parts.recorders
    this.#release = release
  }

  /** Counts a request that has begun with this snapshot, and keeps it. */
  enter(): void {
    this.#inFlight++
  }

  /** Counts out a request whose answer is complete. */
  leave(): void {
    if (--this.#inFlight === 0) this.#whenIdle?.()
  }

  /** Gives back what it stands on when no request uses it any more, however long that takes: a body has no total time. */
  async retire(): Promise<void> {
    // A pool that is closing refuses new requests, a retry among them, so what runs is counted out first.
    if (this.#inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    }
    await this.#release()
  }
}
