import type { NotServingReason } from '../../admin/admin-context.ts'
import type { DownstreamServer } from '../../downstream/listener/downstream-server.ts'
import type { FeatureMessage } from '../channel.ts'
import type { SnapshotInput } from '../runtime-part.ts'
import type { RunInAllProcesses } from '../snapshot/data-plane-commands.ts'
import type { StatusReport } from '../status/report.ts'
import type { WorkerStatus } from '../status/worker.ts'

export interface ProxyServer extends Pick<DownstreamServer, 'address' | 'drain' | 'stopAccepting' | 'close'> {
  /**
   * Does everything that can fail before a configuration takes effect. Rejects when it cannot: nothing has changed
   * then. From when `urgent` resolves, it does not wait for workers that do not answer. They follow when they can, or
   * are replaced.
   */
  prepare(state: SnapshotInput, urgent?: Promise<void>): Promise<PreparedSnapshot>
  /** Returns the reason why no client is served just now. Null: clients are served. */
  notServing(): NotServingReason | null
  /** Collects the report on the traffic. From when `urgent` resolves, workers that do not answer are as last known. */
  report(urgent?: Promise<void>): Promise<StatusReport>
  /** Returns the state of each worker as of the last report. Empty: this process serves. */
  workers(): readonly WorkerStatus[]
  /** Counts the log lines that workers dropped, as of the last report. */
  droppedLines(): number
  /** Tells a feature something in the processes that serve. */
  notify(message: FeatureMessage): void
  readonly runCommand: RunInAllProcesses
}

/** A snapshot that can take effect. Exactly one of the two is called. */
export interface PreparedSnapshot {
  /** Puts it into effect. Never fails: a worker that cannot follow any more is replaced. */
  commit(): Promise<void>
  discard(): Promise<void>
}
