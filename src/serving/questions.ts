import { formatDuration } from '../units.ts'

/** Says that whoever was asked is gone, or going: it is no reason to refuse anything, because a successor will be told. */
export class Gone extends Error {}

interface Asked {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
}

/** Keeps the questions that another process has not answered yet. */
export class Questions {
  readonly #onLate: () => void
  readonly #open = new Map<number, Asked>()
  #lastId = 0

  /** `onLate` is told of each that is not answered in time. */
  constructor(onLate: () => void) {
    this.#onLate = onLate
  }

  /** Asks with `send`, which is given a number to answer with. Rejects with what is answered, when it is late, or with {@link Gone}. */
  ask(send: (id: number) => void, withinMs: number): Promise<unknown> {
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const timer = setTimeout(() => {
      reject(new Error(`did not answer within ${formatDuration(withinMs)}`))
      this.#onLate()
    }, withinMs)
    this.#open.set(id, { resolve, reject })
    send(id)
    return promise.finally(() => {
      clearTimeout(timer)
      this.#open.delete(id)
    })
  }

  /** Takes an answer. One that comes too late is nobody's. */
  answered(id: number, error: string | null, answer: unknown): void {
    const asked = this.#open.get(id)
    if (error === null) asked?.resolve(answer)
    else asked?.reject(new Error(error))
  }

  /** Expects no more answers. */
  end(): void {
    for (const { reject } of this.#open.values()) reject(new Gone('is gone'))
  }
}
