import { SerialQueue } from '../../serial-queue.ts'

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

  /** Runs a task when those before it have ended. */
  run<T>(task: (urgent: Promise<void>) => Promise<T>): Promise<T> {
    return this.#queue.run(() => {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#onUrgent = resolve
      if (this.#urgent > 0) resolve()
      return task(promise)
    })
  }

  /** Runs at once what is urgent. Until it has ended, all that is put into effect is urgent: it may be before that. */
  async expedite<T>(urgent: () => Promise<T>): Promise<T> {
    this.#urgent++
    this.#onUrgent()
    try {
      return await urgent()
    } finally {
      this.#urgent--
    }
  }
}
