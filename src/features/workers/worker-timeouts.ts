export type WorkerTimeouts = Readonly<typeof defaultWorkerTimeouts>

export const defaultWorkerTimeouts = {
  startMs: 30_000,
  /** For `prepare` and `commit`. */
  replyMs: 10_000,
  /** As above, for urgent changes: they do not wait for a slow worker, which applies them later. */
  urgentReplyMs: 250,
  reportMs: 1000,
  connectionAckMs: 1000,
  /** For a worker's call to the primary, while a client waits. */
  primaryReplyMs: 20,
  /** After another timeout was missed. */
  hangMs: 30_000,
  /** Between messages of the state that would be lost with the worker. */
  saveEveryMs: 60_000,
}
