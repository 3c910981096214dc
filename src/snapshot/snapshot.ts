import type { Group, OperationId } from '../catalog.ts'
import { catalog, groups } from '../catalog.ts'
import { now, within } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Handle } from '../exchange.ts'
import { openUpstream, retire, type Upstream } from '../upstream/upstream.ts'
import { stack } from './stack.ts'

/** Is one configuration as running objects: nine handles and the upstreams they use. Never changed, only replaced. */
export class Snapshot {
  readonly config: Config
  readonly handles: Readonly<Record<OperationId, Handle>>
  readonly upstreams: Readonly<Record<Group, Upstream>>
  #inFlight = 0
  #whenIdle: (() => void) | null = null

  constructor(config: Config, handles: Snapshot['handles'], upstreams: Snapshot['upstreams']) {
    this.config = config
    this.handles = handles
    this.upstreams = upstreams
  }

  /** Counts a request that has begun with this snapshot, and keeps it. */
  enter(): void {
    this.#inFlight++
  }

  /** Counts out a request whose answer is complete. */
  leave(): void {
    if (--this.#inFlight === 0) this.#whenIdle?.()
  }

  /** Closes its connections when nothing uses them any more, and cuts what is left after the deadline. */
  async retire(deadlineMs: number): Promise<void> {
    const startedAt = now()
    if (this.#inFlight > 0) await within(deadlineMs, this.#idle())
    const left = Math.max(0, deadlineMs - (now() - startedAt))
    await Promise.all(Object.values(this.upstreams).map((upstream) => retire(upstream, left)))
  }

  // A pool that is closing refuses new requests, a retry among them, so what runs is counted out first.
  #idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenIdle = resolve
    })
  }
}

/** Builds a snapshot; `sandboxOrigin` is where the embedded upstream listens, if anything uses it. */
export const build = (config: Config, sandboxOrigin: string | null): Snapshot => {
  const upstreams = Object.fromEntries(
    groups.map((group) => [group, openUpstream(config.upstreams[group], sandboxOrigin)]),
  ) as Record<Group, Upstream>
  const handles = Object.fromEntries(
    catalog.map(({ id, group }) => [id, stack(config.operations[id], upstreams[group])]),
  ) as Record<OperationId, Handle>
  return new Snapshot(config, handles, upstreams)
}
