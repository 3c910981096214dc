import type { Snapshot } from './snapshot.ts'

/** Holds the snapshot that new exchanges use. An exchange keeps the one it began with. */
export class Live {
  #current: Snapshot

  constructor(first: Snapshot) {
    this.#current = first
  }

  get current(): Snapshot {
    return this.#current
  }
}
