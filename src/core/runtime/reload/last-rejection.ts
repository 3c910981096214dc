import type { LoadResult } from '../../config/load/load.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import { epochMs } from '../../lib/clock.ts'
import type { ReloadTrigger } from './reload-history.ts'

export interface ReloadRejection {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** When what was rejected was tried first: an edit that is held back is tried again and again. */
  readonly since: number
  readonly trigger: ReloadTrigger
  readonly problems: readonly ConfigProblem[]
  /** Whether the file by itself can run. What was in the way may be a setting that needs a restart. */
  readonly isFileSound: boolean
  /** Whether workers did not reply in time. */
  readonly isUnanswered: boolean
}

/** The last reload or rollback that was rejected, until something takes effect. */
export class LastRejection {
  #current: ReloadRejection | null = null
  /** Its files, with what was in them. */
  #contents = ''

  /** Null: none since a configuration took effect. */
  get current(): ReloadRejection | null {
    return this.#current
  }

  /**
   * Records another one. The same files again are rejected since they were first. `sources` are the files that were
   * read last; `heldSince`: an edit is held back since then.
   */
  record(
    rejection: Omit<ReloadRejection, 'at' | 'since'>,
    sources: LoadResult['sources'],
    heldSince: number | null,
  ): void {
    const at = epochMs()
    const contents = sources.map(({ file, digest }) => `${file} ${digest}`).join('\n')
    const before = this.#current
    const isSame =
      before !== null && contents === this.#contents && ![before.trigger, rejection.trigger].includes('rollback')
    this.#contents = contents
    this.#current = { at, since: heldSince ?? (isSame ? before.since : at), ...rejection }
  }

  /** Notes that something took effect. Returns what is left: after a rollback, a rejected edit that never ran. */
  settle(trigger: ReloadTrigger): ReloadRejection | null {
    if (trigger !== 'rollback' || this.#current?.trigger === 'rollback') this.#current = null
    return this.#current
  }
}
