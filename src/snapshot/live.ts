import type { Endpoint } from '../upstream/endpoint.ts'
import type { Snapshot } from './snapshot.ts'

/** Holds the snapshot that new exchanges use. An exchange keeps the one it began with. */
export class Live {
  #current: Snapshot
  readonly #retiring = new Set<Promise<void>>()

  constructor(first: Snapshot) {
    this.#current = first
    activate(first)
  }

  get current(): Snapshot {
    return this.#current
  }

  /** Tells how many earlier snapshots still finish requests. */
  get retiring(): number {
    return this.#retiring.size
  }

  /** Makes a snapshot current: the whole swap is one assignment. The previous one is retired. */
  swap(next: Snapshot): void {
    const previous = this.#current
    this.#current = next
    activate(next)
    forget(previous, next)
    this.#retire(previous)
  }

  /** Retires the current one too, and resolves when all have ended. */
  async close(): Promise<void> {
    this.#retire(this.#current)
    this.#current.observation.runtime.follow(false)
    await Promise.all(this.#retiring)
  }

  #retire(snapshot: Snapshot): void {
    const retired = snapshot.retire().finally(() => this.#retiring.delete(retired))
    this.#retiring.add(retired)
  }
}

/** Has its cache bounded and its endpoints watched as it is configured: of two snapshots that share one, the later decides. */
const activate = ({ config, upstreams, caches, observation }: Snapshot): void => {
  observation.runtime.follow(config.metrics !== null)
  caches.activate()
  for (const upstream of Object.values(upstreams)) upstream.activate()
}

/** Has those that get nothing new any more probed no longer, while they finish what they have, for hours perhaps. */
const forget = (previous: Snapshot, next: Snapshot): void => {
  const used = new Set(endpointsOf(next))
  for (const endpoint of endpointsOf(previous)) if (!used.has(endpoint)) endpoint.check(null, 'endpoint')
}

const endpointsOf = ({ upstreams }: Snapshot): readonly Endpoint[] =>
  Object.values(upstreams).flatMap(({ members }) => members.map(({ endpoint }) => endpoint))
