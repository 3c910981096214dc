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
