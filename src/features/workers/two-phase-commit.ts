import { sleep } from '../../core/lib/clock.ts'
import { errorMessage } from '../../core/lib/try.ts'
import { WorkersNotAnsweringError } from '../../core/runtime/proxy-server.ts'
import type { HealthVerdict } from '../../core/upstream/endpoints/endpoint-registry.ts'
import type { SerializedSnapshotInput } from './messages.ts'
import { PeerGoneError, ReplyTimeoutError } from './messages.ts'
import type { WorkerProcess } from './worker-process.ts'
import type { WorkerSlot } from './worker-supervisor.ts'

export interface WorkerTimeouts {
  /** Until a worker serves. */
  readonly startMs: number
  /** Until a worker has replied to `prepare` or `commit`. */
  readonly replyMs: number
  /** The same for urgent changes: a slower worker follows later. */
  readonly urgentReplyMs: number
  readonly reportMs: number
  readonly connectionAckMs: number
  /** How long a worker waits for the primary while a client waits. */
  readonly answerMs: number
  /** How long a worker that missed another timeout may stay silent. */
  readonly hangMs: number
  /** How often a worker sends the primary the state that would be lost with it. */
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

/** Resolves `urgentReplyMs` after `urgent`; without it, never. */
export const waitUntilLate = async (
  urgent: Promise<void> | undefined,
  { urgentReplyMs }: Pick<WorkerTimeouts, 'urgentReplyMs'>,
): Promise<'late'> => {
  await (urgent ?? new Promise<never>(() => {}))
  await sleep(urgentReplyMs)
  return 'late'
}

interface PreparedChange {
  /**
   * Makes all workers apply the change, also those started since. A worker that does not confirm is killed: the
   * successor begins with the new state. Silent workers are waited for until `urgentReplyMs` after `urgent`.
   */
  commit(verdicts: readonly HealthVerdict[]): Promise<void>
  discard(): void
}

let lastId = 0

/**
 * Makes every worker prepare a state. Rejects with nothing changed when a worker cannot, and with {@link
 * WorkersNotAnsweringError} when workers only did not reply in time. A worker that ends meanwhile does not count: its
 * successor begins with the state in effect. Nor does a worker that is silent until `urgentReplyMs` after `urgent`: the
 * commit does not wait for it.
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
    // A worker that was starting has not prepared it, and began with a state that is replaced by now.
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
        // Not waited for: a starting worker gets this before its first connection.
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

/** Null: there is a reply, or the worker has ended. */
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
