import { distance } from 'fastest-levenshtein'

/** Finds the known key that was probably meant: a slip or two away, whatever the case. */
export function nearest(key: string, known: readonly string[]): string | undefined {
  const folded = key.toLowerCase()
  // Two letters that changed places count as two slips.
  const tolerated = key.length < 3 ? 1 : Math.max(2, Math.floor(key.length * 0.4))
  let best: string | undefined
  let least = tolerated + 1
  for (const candidate of known) {
    const named = candidate.toLowerCase()
    // Each letter more is a slip at least. Clients write what is compared here, and would have it compared at length.
    if (Math.abs(folded.length - named.length) >= least) continue
    const slips = distance(folded, named)
    if (slips < least) {
      best = candidate
      least = slips
    }
  }
  return best
}
