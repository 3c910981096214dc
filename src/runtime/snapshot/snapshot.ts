import type { Config } from '../../config/config.ts'
import type { Handler } from '../../exchange.ts'
import type { RetryBudget } from '../../layers/resilience/retry.ts'
import type { AuditSink } from '../../observe/audit/audit-line.ts'
import type { ExchangeObserver } from '../../observe/exchange-record.ts'
import type { Group, OperationId } from '../../operations.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { AuthProvider } from '../pipeline/auth-provider.ts'
import type { ProcessTelemetry } from '../pipeline/observers.ts'
import type { CacheLease } from '../resources/cache-registry.ts'
import type { ProcessLoad } from '../resources/process-load.ts'
import type { RateLimiters } from '../resources/rate-limits.ts'

/** What a snapshot consists of. */
export interface SnapshotParts {
  readonly config: Config
  readonly handlers: Readonly<Record<OperationId, Handler>>
  readonly upstreams: Readonly<Record<Group, Upstream>>
  /** How many retries each upstream still has; null: they are off. */
  readonly retryBudgets: Readonly<Record<Group, RetryBudget | null>>
  /** How much the process has to do, all its snapshots together. */
  readonly processLoad: ProcessLoad
  /** What counts by rate. */
  readonly rateLimiters: RateLimiters
  /** Knows who calls. */
  readonly authProvider: AuthProvider
  /** Has what is stored. */
  readonly caches: CacheLease
  /** Takes the lines of the process. */
  readonly auditSink: AuditSink
  /** What the process has seen. */
  readonly telemetry: ProcessTelemetry
  /** Those who hear of every exchange, in that order. */
  readonly observers: readonly ExchangeObserver[]
}

/** One configuration as running objects: nine handles and the upstreams they use. Never changed, only replaced. */
export interface Snapshot extends SnapshotParts {
  /** Counts a request that has begun with this snapshot, and keeps it. */
  acquire(): void
  /** Counts out a request whose answer is complete. */
  release(): void
  /** Gives back what it stands on when no request uses it any more, however long that takes: a body has no total time. */
  retire(): Promise<void>
}

/** Makes a snapshot; `release` gives back what it stands on. */
export const createSnapshot = (parts: SnapshotParts, releaseResources: () => Promise<void>): Snapshot => {
  let inFlight = 0
  let onIdle = (): void => {}
  return {
    ...parts,
    acquire() {
      inFlight++
    },
    release() {
      if (--inFlight === 0) onIdle()
    },
    async retire() {
      // A pool that is closing refuses new requests, a retry among them, so what runs is counted out first.
      if (inFlight > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve
        })
      }
      await releaseResources()
    },
  }
}
