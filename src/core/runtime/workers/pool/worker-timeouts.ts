import { sleep } from '../../../lib/clock.ts'

/** The timeouts of workers, in ms. */
export interface WorkerTimeouts {
  /** Until a worker serves. */
  readonly startMs: number
  /** Until it has replied whether it can take a configuration, or that it has. */
  readonly replyMs: number
  /** The same of what does not wait: a worker that takes longer follows on its own. */
  readonly urgentReplyMs: number
  /** Until it has sent its report. */
  readonly reportMs: number
  /** Until it has acknowledged a connection. */
  readonly connectionAckMs: number
  /** Until the primary has answered a worker whose client waits. It is how long the worker waits for it. */
  readonly answerMs: number
  /** Until it has given any sign of life, when it has missed one of these. */
  readonly hangMs: number
  /** From one time that a worker tells what would be lost with it to the next. */
  readonly saveEveryMs: number
}

export const defaultWorkerTimeouts: WorkerTimeouts = {
  startMs: 30_000,
  replyMs: 10_000,
  urgentReplyMs: 250,
  reportMs: 1000,
  connectionAckMs: 1000,
  answerMs: 20,
  hangMs: 30_000,
  saveEveryMs: 60_000,
}

/** Waits until `urgent` has resolved, and workers have had a short time to reply since. Without it: for ever. */
export const waitUntilLate = async (
  urgent: Promise<void> | undefined,
  { urgentReplyMs }: Pick<WorkerTimeouts, 'urgentReplyMs'>,
): Promise<'late'> => {
  await (urgent ?? new Promise<never>(() => {}))
  await sleep(urgentReplyMs)
  return 'late'
}
