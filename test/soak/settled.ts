import { setTimeout as pause } from 'node:timers/promises'

// Longer than anything waits by itself: an idle connection to an upstream 3 s, one to a client that lingers 300 ms.
const giveUpMs = 30_000
const everyMs = 250

/** Looks until what is seen is as wanted, or for 30 s; tells what was seen last. */
export const settled = async <Seen>(look: () => Promise<Seen>, wanted: (seen: Seen) => boolean): Promise<Seen> => {
  const from = performance.now()
  for (;;) {
    const seen = await look()
    if (wanted(seen) || performance.now() - from > giveUpMs) return seen
    await pause(everyMs)
  }
}
