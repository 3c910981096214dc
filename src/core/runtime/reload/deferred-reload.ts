import type { ConfigProblem } from '../../config/problem.ts'
import { CoalescedTimer, epochMs } from '../../lib/clock.ts'

// Doubled each time: an endpoint that is starting is found soon, and a dead one is tried rarely.
const firstDelayMs = 1000
const maxDelayMs = 30_000

export interface DeferredEdit {
  readonly hash: string
  readonly problems: readonly ConfigProblem[]
  readonly since: number
  readonly tries: number
  readonly nextTryAt: number
  readonly known: boolean
}

/** Retries after 1, 2, 4, 8, 16, and then every 30 s. */
export class DeferredReload {
  edit: DeferredEdit | null = null
  isDue = false
  readonly #timer: CoalescedTimer
  #closed = false

  constructor(onDue: () => void) {
    this.#timer = new CoalescedTimer(() => {
      this.isDue = true
      onDue()
    })
  }

  record(hash: string, problems: readonly ConfigProblem[]): DeferredEdit | null {
    if (this.#closed) return null
    const before = this.edit?.hash === hash ? this.edit : null
    const tries = (before?.tries ?? 0) + 1
    const waitMs = Math.min(firstDelayMs * 2 ** (tries - 1), maxDelayMs)
    const known = JSON.stringify(before?.problems) === JSON.stringify(problems)
    this.isDue = false
    this.#timer.set(waitMs)
    const at = epochMs()
    this.edit = { hash, problems, since: before?.since ?? at, tries, nextTryAt: at + waitMs, known }
    return this.edit
  }

  cancel(): void {
    this.#timer.clear()
    this.isDue = false
    this.edit = null
  }

  close(): void {
    this.#closed = true
    this.cancel()
  }
}
