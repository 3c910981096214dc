import { distance } from 'fastest-levenshtein'

/** Finds the known key that was probably meant: a slip or two away, whatever the case. */
export function suggestNearest(key: string, known: readonly string[]): string | undefined {
  const folded = key.toLowerCase()
  // Two letters that changed places count as two slips.
  const maxEdits = key.length < 3 ? 1 : Math.max(2, Math.floor(key.length * 0.4))
  let best: string | undefined
  let fewestEdits = maxEdits + 1
  for (const candidate of known) {
    const foldedCandidate = candidate.toLowerCase()
    // Each letter more is a slip at least. Clients write what is compared here, and would have it compared at length.
    if (Math.abs(folded.length - foldedCandidate.length) >= fewestEdits) continue
    const edits = distance(folded, foldedCandidate)
    if (edits < fewestEdits) {
      best = candidate
      fewestEdits = edits
    }
  }
  return best
}
