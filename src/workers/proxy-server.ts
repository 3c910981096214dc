import type { AddressInfo } from 'node:net'
import type { NotServingReason, StatusReport, WorkerStatus } from '../runtime/report/status-report.ts'
import type { SnapshotInput } from '../runtime/snapshot/build-snapshot.ts'
import type { RunInAllProcesses } from '../runtime/snapshot/data-plane-commands.ts'

/** Is what serves clients: this process, or several. */
export interface ProxyServer {
  /** Where clients reach it. */
  readonly address: AddressInfo
  /** Does all that can fail before a state takes effect. Rejects when it cannot: nothing has changed then. */
  prepare(state: SnapshotInput): Promise<PreparedSnapshot>
  /** Tells why no client is served just now; null: clients are. */
  notServing(): NotServingReason | null
  /** Tells what is known of the traffic. */
  report(): Promise<StatusReport>
  /** Tells how the workers do, by what the last report found; none: this process serves. */
  workers(): readonly WorkerStatus[]
  /** Counts the log lines that workers dropped, by the same. */
  droppedLines(): number
  /** Has an operator's command carried out. */
  readonly runCommand: RunInAllProcesses
  /** Goes on accepting and serving, but from now on every answer ends its connection. */
  drain(): void
  /** Accepts nothing new from now on, and goes on serving the connections that are open, those too that are idle. */
  stopAccepting(): void
  /** Accepts nothing new, lets every answer end its connection, and cuts what is left after the deadline. */
  close(deadlineMs: number): Promise<void>
}

/** Is a state that can take effect: exactly one of the two is called. */
export interface PreparedSnapshot {
  /** Puts it into effect. Never fails: whoever cannot follow any more is replaced. */
  commit(): Promise<void>
  /** Forgets it. */
  discard(): Promise<void>
}
