import type { Group, OperationId } from '../catalog.ts'
import type { Config } from '../config/config.ts'
import type { Handle } from '../exchange.ts'
import type { RetryBudget } from '../layers/retry/budget.ts'
import { type Auditor, noAuditor } from '../observe/audit/auditor.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Guard } from './guard.ts'
import type { Pressure } from './pressure.ts'
import type { Rates } from './rate-limits.ts'

/** Is one configuration as running objects: nine handles and the upstreams they use. Never changed, only replaced. */
export class Snapshot {
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
  /** Takes the lines of the process. */
  readonly auditor: Auditor
  readonly #release: () => Promise<void>
  #inFlight = 0
  #whenIdle: (() => void) | null = null

  /** `release` gives back what it stands on. */
  constructor(
    config: Config,
    handles: Snapshot['handles'],
    upstreams: Snapshot['upstreams'],
    budgets: Snapshot['budgets'],
    pressure: Pressure,
    rates: Rates,
    guard: Guard,
    release: () => Promise<void>,
    auditor: Auditor = noAuditor,
  ) {
    this.config = config
    this.handles = handles
    this.upstreams = upstreams
    this.budgets = budgets
    this.pressure = pressure
    this.rates = rates
    this.guard = guard
    this.auditor = auditor
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
