import { errorMessage } from '../../../exchange/failures/error-message.ts'
import type { HealthVerdict } from '../../../upstream/endpoints/endpoint-registry.ts'
import { WorkersNotAnsweringError } from '../../workers-not-answering-error.ts'
import type { SerializedSnapshotInput } from '../ipc/messages.ts'
import { PeerGoneError, ReplyTimeoutError } from '../ipc/rpc.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { WorkerSlot } from './worker-slot.ts'
import { type WorkerTimeouts, waitUntilLate } from './worker-timeouts.ts'

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
