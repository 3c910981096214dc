import type { Config } from '../../config/config.ts'
import { AbandonedAttempts } from '../../layers/idempotency/forward-once.ts'
import { BodyRoom } from '../../shared/bodies/body-room.ts'
import type {
  IdempotencyCall,
  IdempotencyStore,
  IdempotencyStoreState,
} from '../../shared/idempotency/idempotency-store.ts'
import { MemoryIdempotencyStore } from '../../shared/idempotency/memory-idempotency-store.ts'
import { type IdempotencyReply, remoteIdempotencyStore } from '../../shared/idempotency/remote-idempotency-store.ts'
import type { LimiterRole } from '../../shared/rate-limiter/rate-limiter-registry.ts'

/** What requests with a key are remembered with, as long as a snapshot needs it. */
export interface IdempotencyLease {
  readonly store: IdempotencyStore
  readonly room: BodyRoom
  readonly abandoned: AbandonedAttempts
  /** Returns how full the memory is. Null: another process keeps it. */
  state(): IdempotencyStoreState | null
  release(): void
}

/**
 * What a process remembers of requests with a key. It outlives every reload: an edit must not make one happen twice.
 */
export class IdempotencyRegistry {
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
    return {
      store: this.#store,
      room: this.#room,
      abandoned: this.#abandoned,
      state: () => this.#memory?.state() ?? null,
      release: () => {},
    }
  }

  /** Replies to the calls of another process. Null: this process does not remember. */
  replyAll(calls: readonly IdempotencyCall[]): readonly IdempotencyReply[] | null {
    const memory = this.#memory
    return memory && calls.map((call) => memory.reply(call))
  }
}
