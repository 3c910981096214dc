/** One thing that must hold, and what was found. */
export interface Verdict {
  readonly what: string
  readonly found: string
  readonly atMost: string
  readonly held: boolean
}

/** Judges what there must be none of. */
export const none = (what: string, found: readonly string[]): Verdict => ({
  what,
  found: found.length === 0 ? 'none' : found.join('; '),
  atMost: 'none',
  held: found.length === 0,
})
