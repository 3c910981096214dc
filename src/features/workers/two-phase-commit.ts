import { sleep } from '../../core/lib/clock.ts'
import { errorMessage } from '../../core/lib/try.ts'
import { WorkersNotAnsweringError } from '../../core/runtime/proxy-server.ts'
import type { HealthVerdict } from '../../core/upstream/endpoints/endpoint-registry.ts'
import type { SerializedSnapshotInput } from './messages.ts'
import { PeerGoneError, ReplyTimeoutError } from './messages.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { WorkerSlot } from './worker-supervisor.ts'

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

/** A change that all workers can put into effect. */
interface PreparedChange {
  /**
   * Makes all workers apply it, also those that began since. A worker that does not confirm is killed: its successor
   * begins with the new state. From a short time after `urgent` resolves, it is not waited for.
   */
  commit(verdicts: readonly HealthVerdict[]): Promise<void>
  discard(): void
}

let lastId = 0

/**
 * Makes every worker prepare a state. Rejects when one of them cannot, and with {@link WorkersNotAnsweringError} when
 * the only reason is that some have not replied in time; nothing has changed then. A worker that ends meanwhile does
 * not count: its successor begins with what is in effect. Nor does one that has not replied a short time after `urgent`
 * resolves: the commit does not wait for it.
 */
export const prepareAll = async (
  slots: readonly WorkerSlot[],
  state: SerializedSnapshotInput,
  timeouts: Pick<WorkerTimeouts, 'replyMs' | 'urgentReplyMs' | 'startMs'>,
  urgent?: Promise<void>,
): Promise<PreparedChange> => {
  const { replyMs, startMs } = timeouts
  const id = ++lastId
  const participants = new Set(slots.filter(({ isServing }) => isServing).flatMap(({ worker }) => worker ?? []))
  const discard = (): void => {
    for (const worker of participants) worker.send({ type: 'discard', prepared: id })
  }
  const late = new Set<WorkerProcess>()
  const prepareLate = waitUntilLate(urgent, timeouts)
  const replies = await Promise.all(
    slots.map(async ({ number, worker }) => {
      if (worker === null || !participants.has(worker)) return null
      const failure = await Promise.race([
        getFailure(worker.call('prepare', { prepared: id, state }, replyMs)),
        prepareLate,
      ])
      if (failure === 'late') {
        late.add(worker)
        return null
      }
      return failure && { ...failure, reason: `worker ${number} (process ${worker.pid}) ${failure.reason}` }
    }),
  )
  const failures = replies.filter((failure) => failure !== null)
  if (failures.length > 0) {
    discard()
    const unable = failures.find(({ isLate }) => !isLate)
    if (unable !== undefined) throw new Error(unable.reason)
    throw new WorkersNotAnsweringError(failures.map(({ reason }) => reason).join(', '))
  }

  const commitOn = async (
    worker: WorkerProcess,
    verdicts: readonly HealthVerdict[],
    timeoutMs: number,
  ): Promise<void> => {
    // A worker that was still starting has not prepared it, and the state that it was started with has been replaced.
    const prepared = participants.has(worker)
      ? null
      : getFailure(worker.call('prepare', { prepared: id, state }, timeoutMs))
    const committed = getFailure(worker.call('commit', { prepared: id, verdicts }, timeoutMs))
    const failure = (await prepared) ?? (await committed)
    if (failure !== null) worker.kill(`could not put a change into effect: ${failure.reason}`)
  }
  return {
    async commit(verdicts) {
      const commitLate = waitUntilLate(urgent, timeouts)
      const commits = slots.map(({ worker, isServing }) => {
        if (worker === null) return null
        if (isServing && !late.has(worker)) return Promise.race([commitOn(worker, verdicts, replyMs), commitLate])
        // The commit does not wait for it: one that starts gets this before the first connection.
        void commitOn(worker, verdicts, late.has(worker) ? replyMs : startMs)
        return null
      })
      await Promise.all(commits)
    },
    discard,
  }
}

interface CallFailure {
  readonly reason: string
  readonly isLate: boolean
}

/** Waits for a reply, and returns why there is none. Null: there is one, or the worker has ended. */
const getFailure = async (reply: Promise<unknown>): Promise<CallFailure | null> => {
  try {
    await reply
    return null
  } catch (error) {
    if (error instanceof PeerGoneError) return null
    const reason = errorMessage(error)
    return { reason, isLate: error instanceof ReplyTimeoutError }
  }
}
