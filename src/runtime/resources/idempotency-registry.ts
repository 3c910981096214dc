import { epochMs } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { AbandonedAttempts } from '../../layers/idempotency/forward-once.ts'
import { BodyRoom } from '../../shared/bodies/body-room.ts'
import type { IdempotencyCall, IdempotencyStore } from '../../shared/idempotency/idempotency-store.ts'
import { MemoryIdempotencyStore } from '../../shared/idempotency/memory-idempotency-store.ts'
import { type IdempotencyReply, remoteIdempotencyStore } from '../../shared/idempotency/remote-idempotency-store.ts'
import type { LimiterRole } from '../../shared/rate-limiter/rate-limiter-registry.ts'

/** The state of the store that remembers requests with a key. */
export interface IdempotencyState {
  readonly store: 'memory' | 'redis'
  /**
   * `shared`: all gateways remember together. `local`: this gateway remembers for itself alone. `unavailable`: the
   * store cannot be asked, so nothing new is remembered.
   */
  readonly state: 'shared' | 'local' | 'unavailable'
  /** Since when that is so, in milliseconds since the epoch. */
  readonly since: number
  /** Why the store cannot be asked. Null: it can. */
  readonly reason: string | null
  /** How many keys are remembered, and how many may be. Null: the store does not tell. */
  readonly entries: number | null
  readonly maxEntries: number | null
  /** Bytes of stored responses, and how many may be stored. Null: the store does not tell. */
  readonly bytes: number | null
  readonly maxBytes: number | null
  /** How many attempts are under way. Null: the store does not tell. */
  readonly inProgress: number | null
  /** How many outcomes are unknown. Null: the store does not tell. */
  readonly unknown: number | null
  /** Since when the oldest unknown outcome is so, in milliseconds since the epoch. Null: there is none. */
  readonly oldestUnknown: number | null
  /** How many responses were given up for want of room, since the process started. */
  readonly dropped: number
  /** How many keys were refused for want of room, since the process started. */
  readonly refused: number
}

/** What requests with a key are remembered with, as long as a snapshot needs it. */
export interface IdempotencyLease {
  readonly store: IdempotencyStore
  readonly room: BodyRoom
  readonly abandoned: AbandonedAttempts
  /** Returns the state of the store, and how full it is. Null: another process remembers for this one. */
  state(): IdempotencyState | null
  release(): void
}

/**
 * What a process remembers of requests with a key. It outlives every reload: an edit must not make one happen twice.
 */
export class IdempotencyRegistry {
  readonly #since = epochMs()
  readonly #memory: MemoryIdempotencyStore | null
  readonly #store: IdempotencyStore
  readonly #room = new BodyRoom()
  readonly #abandoned = new AbandonedAttempts()

  constructor(role: LimiterRole) {
    this.#memory = role.kind === 'worker' ? null : new MemoryIdempotencyStore({ maxEntries: 0, maxBytes: 0 })
    this.#store =
      role.kind === 'worker' ? remoteIdempotencyStore(role.askPrimaryForKeys) : (this.#memory as IdempotencyStore)
  }

  /** Acquires the store, with the bounds of a configuration. Null: no operation has idempotency. */
  acquire({ idempotency, operations }: Config): IdempotencyLease | null {
    if (Object.values(operations).every((operation) => operation.idempotency === null)) return null
    if (this.#memory !== null) this.#memory.bounds = idempotency
    const { maxEntries, maxBytes } = idempotency
    return {
      store: this.#store,
      room: this.#room,
      abandoned: this.#abandoned,
      state: () =>
        this.#memory && {
          ...{ store: 'memory', state: 'local', since: this.#since, reason: null },
          ...{ maxEntries, maxBytes, ...this.#memory.state() },
        },
      release: () => {},
    }
  }

  /** Replies to the calls of another process. Null: this process does not remember. */
  replyAll(calls: readonly IdempotencyCall[]): readonly IdempotencyReply[] | null {
    const memory = this.#memory
    return memory && calls.map((call) => memory.reply(call))
  }
}
