import type { AddressInfo } from 'node:net'
import type { FeatureMessage } from './channel.ts'
import type { SnapshotInput } from './runtime-part.ts'
import type { RunInAllProcesses } from './snapshot/data-plane.ts'
import type { StatusReport } from './status/status-part.ts'

/** In this process, or in workers. */
export interface ProxyServer {
  readonly address: AddressInfo
  readonly processes: number
  /**
   * If it rejects, nothing has changed. After `urgent` resolves, it does not wait for silent workers, which follow
   * later or are replaced.
   */
  prepare(state: SnapshotInput, urgent?: Promise<void>): Promise<PreparedSnapshot>
  notServing(): NotServingReason | null
  /** After `urgent` resolves, a silent worker counts with its last report. */
  report(urgent?: Promise<void>): Promise<StatusReport>
  droppedLines(): number
  notify(message: FeatureMessage): void
  readonly runCommand: RunInAllProcesses
  drain(): void
  /** Serves the open connections, idle ones too. */
  stopAccepting(): void
  close(deadlineMs: number): Promise<void>
}

export type NotServingReason = 'starting' | 'not-listening' | 'no-worker'

/** Exactly one of `commit` and `discard` is called. */
export interface PreparedSnapshot {
  /** Never fails: a worker that cannot follow is replaced. */
  commit(): Promise<void>
  discard(): Promise<void>
}

/** Operators may see the message. */
export class WorkersNotReplyingError extends Error {
  override readonly name = 'WorkersNotReplyingError'
}

export const heldBackHint = 'the change is in effect in no worker, and is retried until the file changes'

export const notReplyingHint =
  'the change is in effect in no worker, and is not retried; repeat the command when all workers reply'
