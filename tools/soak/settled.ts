import { setTimeout as pause } from 'node:timers/promises'

// Longer than anything goes on by itself. The longest is an upload whose client has left while the upstream took little
// of it: what the system holds of it, megabytes, is passed on before its end is seen.
const giveUpMs = 120_000
const everyMs = 250

/** Looks until what is seen is as wanted, or for two minutes; returns what was seen last. */
export const settled = async <Seen>(look: () => Promise<Seen>, wanted: (seen: Seen) => boolean): Promise<Seen> => {
  const from = performance.now()
  for (;;) {
    const seen = await look()
    if (wanted(seen) || performance.now() - from > giveUpMs) return seen
    await pause(everyMs)
  }
}
