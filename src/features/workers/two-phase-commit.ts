import { sleep } from '../../core/lib/clock.ts'
import { errorMessage } from '../../core/lib/try.ts'
import { WorkersNotReplyingError } from '../../core/runtime/proxy-server.ts'
import type { HealthVerdict } from '../../core/upstream/endpoints/endpoint-registry.ts'
import { PeerGoneError, ReplyTimeoutError, type SerializedSnapshotInput } from './messages.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { WorkerSlot } from './worker-supervisor.ts'
import type { WorkerTimeouts } from './worker-timeouts.ts'

/** Resolves `urgentReplyMs` after `urgent`; without it, never. */
export const waitUntilLate = async (
  urgent: Promise<void> | undefined,
  { urgentReplyMs }: Pick<WorkerTimeouts, 'urgentReplyMs'>,
): Promise<'late'> => {
  await (urgent ?? new Promise<never>(() => {}))
  await sleep(urgentReplyMs)
  return 'late'
}

let lastId = 0

/**
 * Makes every worker prepare a state. Rejects with nothing changed if a worker cannot, and with {@link
 * WorkersNotReplyingError} if workers are only late. Workers that end, or are silent until `urgentReplyMs` after
 * `urgent`, do not count: successors begin with the state in effect.
 */
export const prepareAll = async (
  slots: readonly WorkerSlot[],
  state: SerializedSnapshotInput,
  timeouts: Pick<WorkerTimeouts, 'replyMs' | 'urgentReplyMs' | 'startMs'>,
  urgent?: Promise<void>,
) => {
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
      const prepared = getFailure(worker.call('prepare', { prepared: id, state }, replyMs))
      const failure = await Promise.race([prepared, prepareLate])
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
    throw new WorkersNotReplyingError(failures.map(({ reason }) => reason).join(', '))
  }

  const commitOn = async (worker: WorkerProcess, verdicts: readonly HealthVerdict[], timeoutMs: number) => {
    // A worker that was starting has the earlier state, and has not prepared this one.
    const hasPrepared = participants.has(worker)
    const prepared = hasPrepared ? null : getFailure(worker.call('prepare', { prepared: id, state }, timeoutMs))
    const committed = getFailure(worker.call('commit', { prepared: id, verdicts }, timeoutMs))
    const failure = (await prepared) ?? (await committed)
    if (failure !== null) worker.kill(`could not put a change into effect: ${failure.reason}`)
  }
  return {
    /**
     * Makes all workers apply the change, also those started since. Kills a worker that does not confirm: its successor
     * begins with the new state. Waits for silent workers until `urgentReplyMs` after `urgent`.
     */
    async commit(verdicts: readonly HealthVerdict[]): Promise<void> {
      const commitLate = waitUntilLate(urgent, timeouts)
      const commits = slots.map(({ worker, isServing }) => {
        if (worker === null) return null
        const committed = commitOn(worker, verdicts, isServing || late.has(worker) ? replyMs : startMs)
        // A starting worker needs no wait: it gets this message before its first connection.
        return isServing && !late.has(worker) ? Promise.race([committed, commitLate]) : null
      })
      await Promise.all(commits)
    },
    discard,
  }
}

const getFailure = (reply: Promise<unknown>) =>
  reply.then(
    () => null,
    (error: unknown) => {
      if (error instanceof PeerGoneError) return null
      return { reason: errorMessage(error), isLate: error instanceof ReplyTimeoutError }
    },
  )
