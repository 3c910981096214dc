import { createHash } from 'node:crypto'
import { catalog, type Operation, type OperationId } from '../catalog.ts'
import type { Config } from '../config/config.ts'
import type { Notices, SecondLevel } from '../layers/cache/fetching.ts'
import type { Target } from '../layers/cache/invalidate.ts'
import type { Part } from '../layers/cache/part.ts'
import { CacheStore, type Cleared } from '../layers/cache/store.ts'
import { Kept } from '../shared/kept.ts'
import type { Tell } from '../upstream/notices.ts'
import type { SecondState, Seconds } from './seconds.ts'

/** Is what a snapshot has of the cache. */
export interface HeldCaches {
  /** Finds what is stored of an operation; null: it is not cached. */
  of(id: OperationId): Part | null
  /** Makes the way to what other gateways have stored of an operation; null: there is none. */
  secondOf(id: OperationId): SecondLevel | null
  /** Whether any operation is cached. */
  readonly isUsed: boolean
  /** Hears what no client is told. */
  readonly notices: Notices
  /** Removes what has become invalid, here and in the other processes that serve. */
  invalidate(targets: readonly Target[]): void
  /** Tells how full it is. */
  state(): { readonly bytes: number; readonly maxBytes: number; readonly evictions: number }
  /** Tells how the second level does; null: there is none. */
  secondState(): SecondState | null
  /** Has the bound of its configuration hold. */
  activate(): void
  release(): void
}

/** Is what became of an order to remove what is stored, in one process. */
export interface ClearedHere {
  /** How many answers were removed. */
  readonly removed: number
  /** Whether the second level knows, or there is none. */
  readonly isTold: boolean
}

/**
 * Keeps what is stored of each operation as long as its own configuration and what stands behind it stay as they are: after any other edit of
 * them, what is stored might not be what the upstream would answer now. One for each process; every snapshot takes part.
 */
export class Caches {
  readonly #store = new CacheStore(0)
  readonly #parts = new Kept<Part>()
  readonly #notices: Notices
  readonly #tellOthers: (targets: readonly Target[]) => void
  readonly #seconds: Seconds | null

  /**
   * `tellOthers` is told what has become invalid: other processes may have stored it too. `seconds`: the second levels of whoever serves clients; null
   * where nobody does.
   */
  constructor(tell: Tell, tellOthers: (targets: readonly Target[]) => void = () => {}, seconds: Seconds | null = null) {
    this.#tellOthers = tellOthers
    this.#seconds = seconds
    this.#notices = {
      broken: (error) => tell('warn', 'cache failed', { err: error }),
      unrefreshed: ({ kind }) => tell('info', 'not refreshed', { failure: kind }),
    }
  }

  /** Takes what a configuration needs. What was stored for an operation is still there if nothing that shapes it has changed. */
  hold(config: Config): HeldCaches {
    const { maxBytes, credentials, redis } = config.cache
    const cached = catalog.filter(({ id }) => config.operations[id].cache !== null)
    const names = new Map(cached.map((operation) => [operation.id, shapeOf(config, operation)]))
    const parts = new Map([...names].map(([id, name]) => [id, this.#parts.hold(name, () => this.#store.open(id))]))
    const second = redis !== null && cached.length > 0 ? (this.#seconds?.hold(redis) ?? null) : null
    return {
      secondOf: (id) => {
        const [rules, part, shape] = [config.operations[id].cache, parts.get(id), names.get(id)]
        if (second === null || rules === null || part === undefined || shape === undefined) return null
        return second.level({
          part,
          rules: { ...rules, credentials },
          notices: this.#notices,
          shape: createHash('sha256').update(shape).digest('base64url'),
        })
      },
      secondState: () => second?.state() ?? null,
      of: (id) => parts.get(id) ?? null,
      isUsed: cached.length > 0,
      notices: this.#notices,
      invalidate: (targets) => {
        this.invalidate(targets)
        this.#tellOthers(targets)
      },
      state: () => this.#store,
      activate: () => this.#store.bound(maxBytes),
      release: () => {
        for (const name of names.values()) this.#parts.release(name)?.close()
        second?.release()
      },
    }
  }

  /** Removes what is stored, and what other gateways could find of it. */
  async clear(what: Cleared): Promise<ClearedHere> {
    const removed = this.#store.clear(what)
    return { removed, isTold: (await this.#seconds?.clear(what)) ?? true }
  }

  /** Removes what an unsafe request has made invalid (RFC 9111 §4.4). */
  invalidate(targets: readonly Target[]): void {
    for (const { operation, query } of targets) this.#store.invalidate(operation, query)
    this.#seconds?.invalidate(targets)
  }
}

/** Writes all that decides what an answer is. How endpoints share the work, and who is asked first, does not. */
const shapeOf = ({ operations, upstreams, auth }: Config, { id, group }: Operation): string => {
  const { endpoints, host, request, response, tls } = upstreams[group]
  const origins = endpoints.map(({ origin, pathPrefix }) => origin + pathPrefix)
  const told = auth === null ? null : [auth.identityField, auth.credentials]
  return JSON.stringify([id, operations[id].cache, operations[id].auth, origins, host, request, response, tls, told])
}

/** Has nothing stored, for whoever serves nothing: to tell of a configuration, say. */
export const noCaches = (config: Config): HeldCaches => new Caches(() => {}).hold(config)
