import type { AddressInfo } from 'node:net'
import type { NotServingReason, StatusReport, WorkerStatus } from '../runtime/report/status-report.ts'
import type { SnapshotInput } from '../runtime/snapshot/build-snapshot.ts'
import type { RunInAllProcesses } from '../runtime/snapshot/data-plane-commands.ts'

/** The server of clients: this process, or several. */
export interface ProxyServer {
  /** The address where clients reach it. */
  readonly address: AddressInfo
  /**
   * Does everything that can fail before a configuration takes effect. Rejects when it cannot: nothing has changed
   * then. From when `urgent` resolves, it does not wait for workers that do not answer. They follow when they can, or
   * are replaced.
   */
  prepare(state: SnapshotInput, urgent?: Promise<void>): Promise<PreparedSnapshot>
  /** Returns the reason why no client is served just now. Null: clients are served. */
  notServing(): NotServingReason | null
  /** Collects the report on the traffic. */
  report(): Promise<StatusReport>
  /** Returns the state of each worker as of the last report. Empty: this process serves. */
  workers(): readonly WorkerStatus[]
  /** Counts the log lines that workers dropped, as of the last report. */
  droppedLines(): number
  /** Runs an operator's command in every process that serves. */
  readonly runCommand: RunInAllProcesses
  /** Goes on accepting and serving, but from now on every response ends its connection. */
  drain(): void
  /** Accepts nothing new from now on, and goes on serving the open connections, idle ones too. */
  stopAccepting(): void
  /** Accepts nothing new, lets every response end its connection, and cuts off what is left after the deadline. */
  close(deadlineMs: number): Promise<void>
}

/** A snapshot that can take effect. Exactly one of the two is called. */
export interface PreparedSnapshot {
  /** Puts it into effect. Never fails: a worker that cannot follow any more is replaced. */
  commit(): Promise<void>
  /** Drops it. */
  discard(): Promise<void>
}
