import { formatDuration } from '../../../lib/text/units.ts'

/**
 * The error that the called process has ended, or is about to. It is no reason to reject a change, because a successor
 * will get it.
 */
export class PeerGoneError extends Error {}

/** The error that the called process has not replied in time. It may run the call all the same, later. */
export class ReplyTimeoutError extends Error {}

interface PendingCall {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** The calls that another process has not replied to yet. */
export class PendingCalls {
  readonly #onTimeout: () => void
  readonly #pending = new Map<number, PendingCall>()
  #lastId = 0

  /** `onTimeout` is called for each call without a reply in time. */
  constructor(onTimeout = () => {}) {
    this.#onTimeout = onTimeout
  }

  /**
   * Calls with `send`, which gets a number for the reply. Rejects with the error that is replied, with
   * {@link ReplyTimeoutError} or with {@link PeerGoneError}. `timeoutMs` null: the caller decides how long it waits.
   */
  call(send: (id: number) => void, timeoutMs: number | null): Promise<unknown> {
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const timer =
      timeoutMs === null
        ? undefined
        : setTimeout(() => {
            reject(new ReplyTimeoutError(`did not answer within ${formatDuration(timeoutMs)}`))
            this.#onTimeout()
          }, timeoutMs)
    this.#pending.set(id, { resolve, reject })
    send(id)
    return promise.finally(() => {
      clearTimeout(timer)
      this.#pending.delete(id)
    })
  }

  /** Settles a call. A reply that comes too late settles nothing. */
  settle(id: number, error: string | null, result: unknown): void {
    const call = this.#pending.get(id)
    if (error === null) call?.resolve(result)
    else call?.reject(new Error(error))
  }

  rejectAll(): void {
    for (const { reject } of this.#pending.values()) reject(new PeerGoneError('is gone'))
  }
}
