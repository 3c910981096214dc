export type WorkerTimeouts = Readonly<typeof defaultWorkerTimeouts>

export const defaultWorkerTimeouts = {
  /** Until a worker serves. */
  startMs: 30_000,
  /** Until a worker has replied to `prepare` or `commit`. */
  replyMs: 10_000,
  /** The same for urgent changes: a slower worker follows later. */
  urgentReplyMs: 250,
  reportMs: 1000,
  connectionAckMs: 1000,
  /** How long a worker waits for the primary while a client waits. */
  primaryReplyMs: 20,
  /** How long a worker that missed another timeout may stay silent. */
  hangMs: 30_000,
  /** How often a worker sends the primary the state that would be lost with it. */
  saveEveryMs: 60_000,
}
