import { FairQuota, usualBodyBytes } from '../../core/lib/fair-quota.ts'
import { DeferredWork } from './deferred-work.ts'

/** The checks of report mode, which run when the bytes of their messages have been handed on, and their room. */
export class CheckQueue {
  /** The room for bodies of requests. Kept apart: slow uploads must not leave responses without room. */
  readonly requests = new FairQuota(usualBodyBytes)
  readonly responses = new FairQuota(usualBodyBytes)
  readonly #work: DeferredWork

  /** `onError` is called when a check throws, once a second at most. */
  constructor(onError: (error: unknown) => void) {
    this.#work = new DeferredWork(onError)
  }

  /** Runs a check in a later turn of the event loop; false: too many wait. */
  add(check: () => void): boolean {
    return this.#work.add(check)
  }
}
