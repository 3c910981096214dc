import { within } from '../clock.ts'
import type { Target } from '../layers/cache/invalidate.ts'
import type { Cleared } from '../layers/cache/store.ts'
import { type Auditor, noAuditor } from '../observe/audit/line.ts'
import type { Log } from '../observe/log.ts'
import type { Outcome } from '../shared/limiter/bucket.ts'
import { Limiters, type Part } from '../shared/limiter/limiters.ts'
import { Endpoints, type OnVerdict, type Verdict } from '../upstream/endpoints.ts'
import type { Tell } from '../upstream/notices.ts'
import { build, type Shared, type State } from './build.ts'
import { Caches, type ClearedHere } from './caches.ts'
import { Live } from './live.ts'
import { openObservation } from './recorders.ts'
import { Seconds } from './seconds.ts'
import type { Snapshot } from './snapshot.ts'
import { TokenSources } from './token-sources.ts'
import { readyFor, Tracings } from './tracings.ts'

/** Is what a plane stands on. */
export interface Ground {
  readonly tell: Tell
  /** Hears what this process finds of the endpoints that it probes, which it does unless this is null. */
  readonly onVerdict?: OnVerdict
  /** What probes of another process have found. */
  readonly known?: readonly Verdict[]
  /** What this process does where several count together; unless said, it is alone. */
  readonly part?: Part
  /** What the process is called; unless said, it is alone. */
  readonly process?: string
  /** Takes a line for each exchange; unless said, none is written. */
  readonly log?: Log
  /** Takes what is recorded. */
  readonly auditor?: Auditor
  /** Is told what has become invalid here, and may be stored in other processes. */
  readonly invalidated?: (targets: readonly Target[]) => void
}

/** Opens a plane that serves clients, with all that its first snapshot needs. Rejects as `build` throws. */
export const openPlane = async (first: State, ground: Ground): Promise<Plane> => {
  await readyFor(first.config)
  return new Plane(first, ground)
}

/** Is the data plane of one process: the snapshot that is live, and the endpoints that snapshots share. */
export class Plane {
  readonly #shared: Shared
  readonly live: Live

  /** Builds the first snapshot. Throws as `build` does. */
  constructor(
    first: State,
    {
      tell,
      onVerdict,
      known = [],
      process = 'gateway',
      part = { is: 'alone' },
      log,
      auditor = noAuditor,
      invalidated,
    }: Ground,
  ) {
    const observation = openObservation(log ?? null, process)
    this.#shared = {
      endpoints: new Endpoints(tell, onVerdict),
      limiters: new Limiters(part, (isShared, reason) => {
        if (isShared) tell('info', 'limits are shared', {})
        else tell('warn', 'limits are not shared', { reason })
      }),
      sources: new TokenSources(tell),
      caches: new Caches(tell, invalidated, part.is === 'primary' ? null : new Seconds(tell)),
      auditor,
      observation,
      tracings: part.is === 'primary' ? null : new Tracings(observation.meter.spans, tell),
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

  /** Removes what is stored. */
  clear(what: Cleared): Promise<ClearedHere> {
    return this.#shared.caches.clear(what)
  }

  /** Removes what has become invalid in another process. */
  invalidate(targets: readonly Target[]): void {
    this.#shared.caches.invalidate(targets)
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
