import { within } from '../clock.ts'
import { type Auditor, noAuditor } from '../observe/audit/auditor.ts'
import type { Outcome } from '../shared/limiter/bucket.ts'
import { Limiters, type Part } from '../shared/limiter/limiters.ts'
import { Endpoints, type Prober, type Verdict } from '../upstream/endpoints.ts'
import type { Tell } from '../upstream/notices.ts'
import { build, type Shared } from './build.ts'
import { Live } from './live.ts'
import type { Snapshot } from './snapshot.ts'
import type { State } from './state.ts'
import { TokenSources } from './token-sources.ts'

/** Is the data plane of one process: the snapshot that is live, and the endpoints that snapshots share. */
export class Plane {
  readonly #shared: Shared
  readonly live: Live

  /**
   * Builds the first snapshot. Throws as `build` does; `known` is what probes of another process have found, and `part` what this one does
   * where several count together. `auditor` takes what is recorded.
   */
  constructor(
    first: State,
    tell: Tell,
    prober?: Prober,
    known: readonly Verdict[] = [],
    part: Part = { is: 'alone' },
    auditor: Auditor = noAuditor,
  ) {
    this.#shared = {
      endpoints: new Endpoints(tell, prober),
      limiters: new Limiters(part, (isShared, reason) => {
        if (isShared) tell('info', 'limits are shared', {})
        else tell('warn', 'limits are not shared', { reason })
      }),
      sources: new TokenSources(tell),
      auditor,
      tell,
    }
    for (const verdict of known) this.#shared.endpoints.hear(verdict)
    this.live = new Live(build(first, null, this.#shared))
  }

  /** Lists the endpoints that probes find down. */
  get verdicts(): readonly Verdict[] {
    return this.#shared.endpoints.verdicts
  }

  /** Takes over what probes of another process found. */
  hear(verdict: Verdict): void {
    this.#shared.endpoints.hear(verdict)
  }

  /** Takes one of a limit for each key, for another process; null: that limit is not known here. */
  takeAll(limit: string, keys: readonly string[]): readonly Outcome[] | null {
    return this.#shared.limiters.takeAll(limit, keys)
  }

  /** Builds what may follow the snapshot that is live: to be swapped in, or retired. */
  build(state: State): Snapshot {
    return build(state, this.live.current, this.#shared)
  }

  /** Retires all snapshots, and cuts what still runs after the deadline. */
  async close(deadlineMs: number): Promise<void> {
    if (await within(deadlineMs, this.live.close())) return
    await this.#shared.endpoints.destroy(new Error('shut down'))
  }
}
