import { formatDuration } from '../../units.ts'

/** Says that whoever was asked is gone, or going: it is no reason to refuse anything, because a successor will be told. */
export class PeerGoneError extends Error {}

interface PendingCall {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** Keeps the questions that another process has not answered yet. */
export class PendingCalls {
  readonly #onTimeout: () => void
  readonly #pending = new Map<number, PendingCall>()
  #lastId = 0

  /** `onTimeout` is told of each that is not answered in time. */
  constructor(onTimeout: () => void) {
    this.#onTimeout = onTimeout
  }

  /** Asks with `send`, which is given a number to answer with. Rejects with what is answered, when it is late, or with {@link PeerGoneError}. */
  call(send: (id: number) => void, timeoutMs: number): Promise<unknown> {
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const timer = setTimeout(() => {
      reject(new Error(`did not answer within ${formatDuration(timeoutMs)}`))
      this.#onTimeout()
    }, timeoutMs)
    this.#pending.set(id, { resolve, reject })
    send(id)
    return promise.finally(() => {
      clearTimeout(timer)
      this.#pending.delete(id)
    })
  }

  /** Takes an answer. One that comes too late is nobody's. */
  settle(id: number, error: string | null, result: unknown): void {
    const call = this.#pending.get(id)
    if (error === null) call?.resolve(result)
    else call?.reject(new Error(error))
  }

  /** Expects no more answers. */
  rejectAll(): void {
    for (const { reject } of this.#pending.values()) reject(new PeerGoneError('is gone'))
  }
}
