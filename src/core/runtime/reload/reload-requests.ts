import { SerialQueue } from '../../lib/serial-queue.ts'
import type { ReloadOutcome, ReloadTrigger } from './reload-history.ts'

interface ReloadRequest {
  readonly trigger: ReloadTrigger
  /** Whether it asks for no preflight. */
  readonly force: boolean
  /** The operator who asks; of a shared one, all of them. Null: none does. */
  readonly by: string | null
}

/** One request, or several that are served as one. */
interface PendingRequest extends ReloadRequest {
  settle(outcome: Promise<ReloadOutcome>): void
}

interface WaitingRequest extends PendingRequest {
  /** Checks it again, now that it is its turn. Settles it when it is rejected, and returns whether it was. */
  settleIfRejected(): boolean
}

/** The requests that share the next reload. Each is checked again when it is its turn. */
export class ReloadRequests {
  #waiting: readonly WaitingRequest[] = []

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Adds a request. Resolves to what comes of it: what `reject` returns when it is its turn, unless that is null. */
  add<Rejection>(request: ReloadRequest, reject: () => Rejection | null): Promise<ReloadOutcome | Rejection> {
    const { promise, resolve: settle, reject: fail } = Promise.withResolvers<ReloadOutcome | Rejection>()
    const settleIfRejected = (): boolean => {
      try {
        const rejection = reject()
        if (rejection === null) return false
        settle(rejection)
      } catch (error) {
        fail(error)
      }
      return true
    }
    this.#waiting = [...this.#waiting, { ...request, settleIfRejected, settle }]
    return promise
  }

  /** Takes all of them as one, without those that are rejected. Null: all are. */
  take(): PendingRequest | null {
    const taken = this.#waiting.filter((each) => !each.settleIfRejected())
    this.#waiting = []
    const [first] = taken
    if (first === undefined) return null
    const operators = new Set(taken.flatMap(({ by }) => by ?? []))
    return {
      trigger: first.trigger,
      force: taken.some(({ force }) => force),
      by: operators.size === 0 ? null : [...operators].join(', '),
      settle(outcome) {
        for (const each of taken) each.settle(outcome)
      },
    }
  }
}

/**
 * Runs what puts something into effect, one after the other. Each gets a promise that resolves when something urgent
 * runs or waits: from then on it waits for no worker that does not answer. That worker follows when it can, or is
 * replaced.
 */
export class ApplyQueue {
  readonly #queue = new SerialQueue()
  /** How much runs, or waits to be run, that is urgent. */
  #urgent = 0
  /** Tells what runs just now that something urgent has come. */
  #onUrgent = (): void => {}

  /** Runs a task when those before it have ended. An urgent one hurries them. */
  run<T>(task: (urgent: Promise<void>) => Promise<T>, isUrgent = false): Promise<T> {
    if (isUrgent) {
      this.#urgent++
      this.#onUrgent()
    }
    return this.#queue.run(async () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#onUrgent = resolve
      if (this.#urgent > 0) resolve()
      try {
        return await task(promise)
      } finally {
        if (isUrgent) this.#urgent--
      }
    })
  }
}
