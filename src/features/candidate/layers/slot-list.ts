export interface SlotEntry {
  /** -1: in no list. */
  slot: number
}

/**
 * In place of a Set, which V8 copies after every few removals; an old copy holds its entries until the next full
 * collection.
 */
export const createSlotList = <Entry extends SlotEntry>() => {
  const entries: Entry[] = []
  return {
    /** To be copied before entries are added or removed. */
    all: (): readonly Entry[] => entries,
    size: () => entries.length,
    add(entry: Entry): void {
      entry.slot = entries.push(entry) - 1
    },
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
