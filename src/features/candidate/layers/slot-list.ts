export interface SlotEntry {
  /** The place in the list. -1: it is in none. */
  slot: number
}

/**
 * What is under way, in no order. Entries come and go with each request, for which a Set is the wrong place: V8 copies
 * it for each few that were removed, and what an old copy holds is kept until the next collection of everything.
 */
export class SlotList<Entry extends SlotEntry> {
  readonly #entries: Entry[] = []

  get size(): number {
    return this.#entries.length
  }

  /** The entries, which are to be copied before any is added or removed. */
  get entries(): readonly Entry[] {
    return this.#entries
  }

  /** Adds an entry that is in no list. */
  add(entry: Entry): void {
    entry.slot = this.#entries.push(entry) - 1
  }

  /** Takes an entry out. False: it is not in. */
  delete(entry: Entry): boolean {
    const { slot } = entry
    if (slot < 0) return false
    const last = this.#entries.pop()
    if (last !== undefined && last !== entry) {
      this.#entries[slot] = last
      last.slot = slot
    }
    entry.slot = -1
    return true
  }
}
