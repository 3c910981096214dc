export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Settles as the task does; a task that rejects holds up no other. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task)
    this.#last = done.catch(() => {})
    return done
  }
}
