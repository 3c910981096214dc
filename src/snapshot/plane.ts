import { within } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { type Auditor, noAuditor } from '../observe/audit/auditor.ts'
import type { Outcome } from '../shared/limiter/bucket.ts'
import { Limiters, type Part } from '../shared/limiter/limiters.ts'
import { Endpoints, type Prober, type Verdict } from '../upstream/endpoints.ts'
import type { Tell } from '../upstream/notices.ts'
import { build } from './build.ts'
import { Live } from './live.ts'
import type { Said } from './overrides.ts'
import type { Snapshot } from './snapshot.ts'
import { TokenSources } from './token-sources.ts'

/** Is all that a snapshot is built from. */
export interface State {
  readonly config: Config
  /** What operators have said beside it. */
  readonly said: Said
  /** Where the embedded upstream listens; null: nothing uses it. */
  readonly sandboxOrigin: string | null
}

/** Is the data plane of one process: the snapshot that is live, and the endpoints that snapshots share. */
export class Plane {
  readonly #endpoints: Endpoints
  readonly #tell: Tell
  readonly #limiters: Limiters
  readonly #sources: TokenSources
  readonly #auditor: Auditor
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
    this.#auditor = auditor
    this.#endpoints = new Endpoints(tell, prober)
    this.#tell = tell
    this.#sources = new TokenSources(tell)
    this.#limiters = new Limiters(part, (isShared, reason) => {
      if (isShared) tell('info', 'limits are shared', {})
      else tell('warn', 'limits are not shared', { reason })
    })
    for (const verdict of known) this.#endpoints.hear(verdict)
    this.live = new Live(this.#build(first, null))
  }

  /** Lists the endpoints that probes find down. */
  get verdicts(): readonly Verdict[] {
    return this.#endpoints.verdicts
  }

  /** Takes over what probes of another process found. */
  hear(verdict: Verdict): void {
    this.#endpoints.hear(verdict)
  }

  /** Takes one of a limit for each key, for another process; null: that limit is not known here. */
  takeAll(limit: string, keys: readonly string[]): readonly Outcome[] | null {
    return this.#limiters.takeAll(limit, keys)
  }

  /** Builds what may follow the snapshot that is live: to be swapped in, or retired. */
  build(state: State): Snapshot {
    return this.#build(state, this.live.current)
  }

  /** Retires all snapshots, and cuts what still runs after the deadline. */
  async close(deadlineMs: number): Promise<void> {
    if (await within(deadlineMs, this.live.close())) return
    await this.#endpoints.destroy(new Error('shut down'))
  }

  #build({ config, said, sandboxOrigin }: State, previous: Snapshot | null): Snapshot {
    const [tell, limiters, sources, auditor] = [this.#tell, this.#limiters, this.#sources, this.#auditor]
    return build(config, said, this.#endpoints, sandboxOrigin, previous, tell, limiters, sources, auditor)
  }
}
