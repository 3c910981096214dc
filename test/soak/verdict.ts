/** Is one thing that must hold, and what was found. */
export interface Verdict {
  readonly what: string
  readonly found: string
  readonly atMost: string
  readonly held: boolean
}
