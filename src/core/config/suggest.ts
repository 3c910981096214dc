import { distance } from 'fastest-levenshtein'

/** Finds the known key that was probably meant: within a few edits, whatever the case. */
export function suggestNearest(key: string, known: readonly string[]): string | undefined {
  const folded = key.toLowerCase()
  // Two letters that changed places count as two edits.
  const maxEdits = key.length < 3 ? 1 : Math.max(2, Math.floor(key.length * 0.4))
  let best: string | undefined
  let fewestEdits = maxEdits + 1
  for (const candidate of known) {
    const foldedCandidate = candidate.toLowerCase()
    // Each letter more is an edit at least. Clients write what is compared here, and could make the comparison slow.
    if (Math.abs(folded.length - foldedCandidate.length) >= fewestEdits) continue
    const edits = distance(folded, foldedCandidate)
    if (edits < fewestEdits) {
      best = candidate
      fewestEdits = edits
    }
  }
  return best
}
