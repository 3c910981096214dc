import type { Limit, Outcome } from './bucket.ts'

/** Counts what each key takes of a limit of its own. */
export interface Limiter {
  readonly limit: Limit
  /** Takes one: at once, or soon, when somebody else has to be asked. Never rejects. */
  take(key: string): Outcome | Promise<Outcome>
}
