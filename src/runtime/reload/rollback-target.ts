import type { AppliedConfig } from './applied-config.ts'
import { withCurrentCredentials } from './rollback-credentials.ts'

/** The configuration that a rollback would return to: the last one that differs in more than credentials. */
export class RollbackTarget {
  #earlier: AppliedConfig | null = null

  /** Whether no other configuration has run since the start. */
  get isFirst(): boolean {
    return this.#earlier === null
  }

  /** Notes what ran before `running`. */
  record(earlier: AppliedConfig, running: AppliedConfig): void {
    // Undone, an edit of credentials alone changes nothing: it leaves the way back to what ran before it.
    if (this.#earlier === null || !differsOnlyInCredentials(earlier, running)) this.#earlier = earlier
  }

  /** Returns it with the credentials of `running`; null: there is none. */
  resolve(running: AppliedConfig): AppliedConfig | null {
    if (this.#earlier === null || differsOnlyInCredentials(this.#earlier, running)) return null
    const { warnings, sources, provenance } = this.#earlier
    return { ...withCurrentCredentials(running, this.#earlier), warnings, sources, provenance }
  }
}

const differsOnlyInCredentials = (earlier: AppliedConfig, running: AppliedConfig): boolean =>
  withCurrentCredentials(running, earlier).config.hash === running.config.hash
