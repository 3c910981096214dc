import { SerialQueue } from '../../lib/serial-queue.ts'

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
