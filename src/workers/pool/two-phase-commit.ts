import type { HealthVerdict } from '../../upstream/endpoints/endpoint-registry.ts'
import type { SerializedSnapshotInput } from '../ipc/messages.ts'
import { PeerGoneError } from '../ipc/rpc.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { WorkerSlot } from './worker-slot.ts'
import type { WorkerTimeouts } from './worker-timeouts.ts'

/** A change that all workers can put into effect. */
export interface PreparedChange {
  /**
   * Makes all workers apply it, also those that began since. A worker that does not confirm is killed: its successor
   * begins with the new state.
   */
  commit(verdicts: readonly HealthVerdict[]): Promise<void>
  discard(): void
}

let lastId = 0

/**
 * Makes every worker prepare a state. Rejects when one of them cannot, or does not reply in time; nothing has changed
 * then. A worker that ends meanwhile does not count: its successor begins with what is in effect.
 */
export const prepareAll = async (
  slots: readonly WorkerSlot[],
  state: SerializedSnapshotInput,
  { replyMs, startMs }: Pick<WorkerTimeouts, 'replyMs' | 'startMs'>,
): Promise<PreparedChange> => {
  const id = ++lastId
  const participants = new Set(slots.filter(({ isServing }) => isServing).flatMap(({ worker }) => worker ?? []))
  const discard = (): void => {
    for (const worker of participants) worker.send({ type: 'discard', prepared: id })
  }
  const rejections = await Promise.all(
    slots.map(async ({ number, worker }) => {
      if (worker === null || !participants.has(worker)) return null
      const reason = await failureReason(worker.call('prepare', { prepared: id, state }, replyMs))
      return reason === null ? null : `worker ${number} (process ${worker.pid}) ${reason}`
    }),
  )
  const rejection = rejections.find((reason) => reason !== null)
  if (rejection !== undefined) {
    discard()
    throw new Error(rejection)
  }

  const commitOn = async (
    worker: WorkerProcess,
    verdicts: readonly HealthVerdict[],
    timeoutMs: number,
  ): Promise<void> => {
    // A worker that was still starting has not prepared it, and the state that it was started with has been replaced.
    const prepared = participants.has(worker)
      ? null
      : failureReason(worker.call('prepare', { prepared: id, state }, timeoutMs))
    const committed = failureReason(worker.call('commit', { prepared: id, verdicts }, timeoutMs))
    const reason = (await prepared) ?? (await committed)
    if (reason !== null) worker.kill(`could not follow a reload: ${reason}`)
  }
  return {
    async commit(verdicts) {
      const commits = slots.map(({ worker, isServing }) => {
        if (worker === null) return null
        if (isServing) return commitOn(worker, verdicts, replyMs)
        // The commit does not wait for it: it gets this before the first connection.
        void commitOn(worker, verdicts, startMs)
        return null
      })
      await Promise.all(commits)
    },
    discard,
  }
}

/** Waits for a reply, and returns why there is none. Null: there is one, or the worker has ended. */
const failureReason = async (reply: Promise<unknown>): Promise<string | null> => {
  try {
    await reply
    return null
  } catch (error) {
    if (error instanceof PeerGoneError) return null
    return error instanceof Error ? error.message : String(error)
  }
}
