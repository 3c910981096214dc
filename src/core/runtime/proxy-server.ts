import type { AddressInfo } from 'node:net'
import type { FeatureMessage } from './channel.ts'
import type { SnapshotInput } from './runtime-part.ts'
import type { RunInAllProcesses } from './snapshot/data-plane-commands.ts'
import type { StatusReport } from './status/report.ts'

/** What serves clients: this process, or others for it. */
export interface ProxyServer {
  readonly address: AddressInfo
  /** How many processes serve. */
  readonly processes: number
  /**
   * Does everything that can fail before a configuration takes effect. Rejects when it cannot: nothing has changed
   * then. From when `urgent` resolves, it does not wait for processes that do not answer. They follow when they can, or
   * are replaced.
   */
  prepare(state: SnapshotInput, urgent?: Promise<void>): Promise<PreparedSnapshot>
  /** Returns the reason why no client is served just now. Null: clients are served. */
  notServing(): NotServingReason | null
  /** Collects the report on the traffic. From when `urgent` resolves, a silent process is as last known. */
  report(urgent?: Promise<void>): Promise<StatusReport>
  /** Counts the log lines that other processes dropped, as of the last report. */
  droppedLines(): number
  /** Tells a feature something in the processes that serve. */
  notify(message: FeatureMessage): void
  readonly runCommand: RunInAllProcesses
  /** Goes on accepting and serving, but from now on every response ends its connection. */
  drain(): void
  /** Accepts nothing new from now on, and goes on serving the open connections, idle ones too. */
  stopAccepting(): void
  /** Accepts nothing new, lets every response end its connection, and cuts what is left after the deadline. */
  close(deadlineMs: number): Promise<void>
}

/** The reason why no client is served: the gateway still starts, its socket is closed, or no worker serves. */
export type NotServingReason = 'starting' | 'not-listening' | 'no-worker'

/** A snapshot that can take effect. Exactly one of the two is called. */
export interface PreparedSnapshot {
  /** Puts it into effect. Never fails: a process that cannot follow any more is replaced. */
  commit(): Promise<void>
  discard(): Promise<void>
}

/**
 * The error that a change is in effect nowhere, because workers have not replied in time. Its message names them, and
 * may be shown to operators.
 */
export class WorkersNotAnsweringError extends Error {
  override readonly name = 'WorkersNotAnsweringError'
}

/** What an operator is told beside the message of an edit that is held back. */
export const heldBackHint = 'it is in effect in no worker, and is tried again while the file says so'

/** What an operator is told beside the message of any other change. */
export const notAnsweringHint =
  'it is in effect in no worker, and is not tried again; ask again when they answer, or are replaced'
