import type { ReloadOutcome, ReloadTrigger } from './reload-history.ts'

/** A request for the next reload. */
interface ReloadRequest {
  readonly trigger: ReloadTrigger
  /** Whether it asks for no preflight. */
  readonly force: boolean
  /** The operator who asks; of a shared one, all of them. Null: none does. */
  readonly by: string | null
}

/** Several requests that are served as one. */
interface SharedRequest extends ReloadRequest {
  settle(outcome: Promise<ReloadOutcome>): void
}

interface WaitingRequest extends SharedRequest {
  /** Checks it again once it is its turn; settles it when it is rejected. */
  isRejected(): boolean
}

/** The requests that share the next reload. Each is checked again when it is its turn. */
export class ReloadRequests {
  #waiting: readonly WaitingRequest[] = []

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Adds a request. Resolves to what comes of it: what `reject` returns when it is its turn, unless that is null. */
  add<Rejection>(request: ReloadRequest, reject: () => Rejection | null): Promise<ReloadOutcome | Rejection> {
    const { promise, resolve: settle } = Promise.withResolvers<ReloadOutcome | Rejection>()
    const isRejected = (): boolean => {
      const rejection = reject()
      if (rejection !== null) settle(rejection)
      return rejection !== null
    }
    this.#waiting = [...this.#waiting, { ...request, isRejected, settle }]
    return promise
  }

  /** Takes all of them as one, without those that are rejected. Null: all are. */
  take(): SharedRequest | null {
    const taken = this.#waiting.filter((each) => !each.isRejected())
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
