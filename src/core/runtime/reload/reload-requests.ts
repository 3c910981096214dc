import { SerialQueue } from '../../lib/serial-queue.ts'
import type { ReloadOutcome, ReloadTrigger } from './reload-history.ts'

interface ReloadRequest {
  readonly trigger: ReloadTrigger
  readonly force: boolean
  readonly by: string | null
}

interface WaitingRequest extends ReloadRequest {
  settle(outcome: Promise<ReloadOutcome>): void
  settleIfRejected(): boolean
}

export class ReloadRequests {
  #waiting: readonly WaitingRequest[] = []

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

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

  /** Null: all requests are rejected. */
  take(): Omit<WaitingRequest, 'settleIfRejected'> | null {
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
 * One task at a time. Its promise resolves when an urgent task runs or waits: from then on the task does not wait for
 * silent workers, which follow later or are replaced.
 */
export class ApplyQueue {
  readonly #queue = new SerialQueue()
  #urgent = 0
  #onUrgent = (): void => {}

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
