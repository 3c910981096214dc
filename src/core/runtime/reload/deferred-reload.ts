import type { ConfigProblem } from '../../config/problem.ts'
import { CoalescedTimer, epochMs } from '../../lib/clock.ts'

// Doubled each time: an endpoint that is starting is found soon, and a dead one is tried rarely.
const firstDelayMs = 1000
const maxDelayMs = 30_000

/** An edit that is held back: a new endpoint or key was not reached, or a worker did not reply. */
export interface DeferredEdit {
  /** The hash of its configuration. */
  readonly hash: string
  readonly problems: readonly ConfigProblem[]
  /** When it was first held back, in milliseconds since the epoch. */
  readonly since: number
  /** The first time included. */
  readonly tries: number
  /** In milliseconds since the epoch. */
  readonly nextTryAt: number
  /** Whether the same problems have been reported before. */
  readonly known: boolean
}

/** Retries an edit that is held back after 1, 2, 4, 8, 16, and then every 30 s. */
export class DeferredReload {
  readonly #timer: CoalescedTimer
  #edit: DeferredEdit | null = null
  #due = false
  #closed = false

  constructor(onDue: () => void) {
    this.#timer = new CoalescedTimer(() => {
      this.#due = true
      onDue()
    })
  }

  get edit(): DeferredEdit | null {
    return this.#edit
  }

  get isDue(): boolean {
    return this.#due
  }

  /** Null: the gateway stops, so nothing is retried. */
  record(hash: string, problems: readonly ConfigProblem[]): DeferredEdit | null {
    if (this.#closed) return null
    const before = this.#edit?.hash === hash ? this.#edit : null
    const tries = (before?.tries ?? 0) + 1
    const waitMs = Math.min(firstDelayMs * 2 ** (tries - 1), maxDelayMs)
    const known = JSON.stringify(before?.problems) === JSON.stringify(problems)
    this.#due = false
    this.#timer.set(waitMs)
    const at = epochMs()
    this.#edit = { hash, problems, since: before?.since ?? at, tries, nextTryAt: at + waitMs, known }
    return this.#edit
  }

  /** Called when another configuration takes effect or is about to. */
  cancel(): void {
    this.#timer.clear()
    this.#due = false
    this.#edit = null
  }

  close(): void {
    this.#closed = true
    this.cancel()
  }
}
