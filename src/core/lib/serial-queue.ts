/** Runs tasks one after the other, in the order in which they were added, however long one takes. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs a task when those before it have ended. Settles as the task does; one that rejects holds up no other. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task)
    this.#last = done.catch(() => {})
    return done
  }
}
