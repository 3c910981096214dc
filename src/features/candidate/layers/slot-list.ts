export interface SlotEntry {
  /** -1: in no list. */
  slot: number
}

/**
 * Unordered entries that come and go with each request. V8 copies a Set after every few removals, and an old copy holds
 * its entries until the next full collection.
 */
export const createSlotList = <Entry extends SlotEntry>() => {
  const entries: Entry[] = []
  return {
    /** Copy before adding or removing. */
    all: (): readonly Entry[] => entries,
    size: () => entries.length,
    /** The entry must be in no list. */
    add(entry: Entry): void {
      entry.slot = entries.push(entry) - 1
    },
    /** False: the entry is not in the list. */
    delete(entry: Entry): boolean {
      const { slot } = entry
      if (slot < 0) return false
      const last = entries.pop()
      if (last !== undefined && last !== entry) {
        entries[slot] = last
        last.slot = slot
      }
      entry.slot = -1
      return true
    },
  }
}
