import type { AddressInfo } from 'node:net'
import type { FeatureMessage } from './channel.ts'
import type { SnapshotInput } from './runtime-part.ts'
import type { RunInAllProcesses } from './snapshot/data-plane.ts'
import type { StatusReport } from './status/status-part.ts'

/** The server of clients: this process, or the workers. */
export interface ProxyServer {
  readonly address: AddressInfo
  readonly processes: number
  /**
   * Does every step that can fail before a configuration takes effect. Rejects with nothing changed. After `urgent`,
   * silent workers are not waited for: they follow later, or are replaced.
   */
  prepare(state: SnapshotInput, urgent?: Promise<void>): Promise<PreparedSnapshot>
  notServing(): NotServingReason | null
  /** After `urgent` resolves, the last report of a silent worker is used. */
  report(urgent?: Promise<void>): Promise<StatusReport>
  droppedLines(): number
  notify(message: FeatureMessage): void
  readonly runCommand: RunInAllProcesses
  /** Accepts and serves, but every response ends its connection. */
  drain(): void
  /** Accepts nothing new, and serves the open connections, idle ones too. */
  stopAccepting(): void
  /** Accepts nothing new, lets every response end its connection, and cuts the rest after the deadline. */
  close(deadlineMs: number): Promise<void>
}

export type NotServingReason = 'starting' | 'not-listening' | 'no-worker'

/** Exactly one of `commit` and `discard` is called. */
export interface PreparedSnapshot {
  /** Never fails: a worker that cannot follow is replaced. */
  commit(): Promise<void>
  discard(): Promise<void>
}

/** A change took effect nowhere. The message names the silent workers, and may be shown to operators. */
export class WorkersNotReplyingError extends Error {
  override readonly name = 'WorkersNotReplyingError'
}

export const heldBackHint = 'it is in effect in no worker, and is tried again while the file says so'

export const notReplyingHint =
  'it is in effect in no worker, and is not tried again; ask again when they reply, or are replaced'
