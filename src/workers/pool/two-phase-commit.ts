import type { HealthVerdict } from '../../upstream/endpoints/endpoint-registry.ts'
import type { SerializedSnapshotInput } from '../ipc/messages.ts'
import { PeerGoneError } from '../ipc/rpc.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { WorkerSlot } from './worker-slot.ts'
import type { WorkerTimeouts } from './worker-timeouts.ts'

/** Is a state that all workers can put into effect. */
export interface PreparedChange {
  /** Has all of them do so, those too that began since. One that does not confirm is killed: its successor begins with the state. */
  commit(verdicts: readonly HealthVerdict[]): Promise<void>
  discard(): void
}

let lastId = 0

/**
 * Has every worker prepare a state. Rejects when one of them cannot, or does not answer in time; nothing has changed then. One that ends
 * meanwhile does not count: its successor begins with what is in effect.
 */
export const prepareAll = async (
  slots: readonly WorkerSlot[],
  state: SerializedSnapshotInput,
  { answerMs, startMs }: Pick<WorkerTimeouts, 'answerMs' | 'startMs'>,
): Promise<PreparedChange> => {
  const id = ++lastId
  const participants = new Set(slots.filter(({ isServing }) => isServing).flatMap(({ worker }) => worker ?? []))
  const discard = (): void => {
    for (const worker of participants) worker.send({ type: 'discard', prepared: id })
  }
  const rejections = await Promise.all(
    slots.map(async ({ number, worker }) => {
      if (worker === null || !participants.has(worker)) return null
      const reason = await failureReason(worker.call('prepare', { prepared: id, state }, answerMs))
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
    // One that was still starting has not heard of it, and what it was started with is over.
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
        if (isServing) return commitOn(worker, verdicts, answerMs)
        // Nobody waits for it: it hears of this before the first connection.
        void commitOn(worker, verdicts, startMs)
        return null
      })
      await Promise.all(commits)
    },
    discard,
  }
}

/** Waits for an answer, and tells why there is none; null: there is, or nobody is left to give it. */
const failureReason = async (reply: Promise<unknown>): Promise<string | null> => {
  try {
    await reply
    return null
  } catch (error) {
    if (error instanceof PeerGoneError) return null
    return error instanceof Error ? error.message : String(error)
  }
}
