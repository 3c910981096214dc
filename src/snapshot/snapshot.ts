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

/** What a snapshot consists of. */
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

/** One configuration as running objects: nine handles and the upstreams they use. Never changed, only replaced. */
export interface Snapshot extends Parts {
  /** Counts a request that has begun with this snapshot, and keeps it. */
  enter(): void
  /** Counts out a request whose answer is complete. */
  leave(): void
  /** Gives back what it stands on when no request uses it any more, however long that takes: a body has no total time. */
  retire(): Promise<void>
}

/** Makes a snapshot; `release` gives back what it stands on. */
export const openSnapshot = (parts: Parts, release: () => Promise<void>): Snapshot => {
  let inFlight = 0
  let whenIdle = (): void => {}
  return {
    ...parts,
    enter() {
      inFlight++
    },
    leave() {
      if (--inFlight === 0) whenIdle()
    },
    async retire() {
      // A pool that is closing refuses new requests, a retry among them, so what runs is counted out first.
      if (inFlight > 0) {
        await new Promise<void>((resolve) => {
          whenIdle = resolve
        })
      }
      await release()
    },
  }
}
