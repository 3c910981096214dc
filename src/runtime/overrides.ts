import { CoalescedTimer, epochMs } from '../clock.ts'
import type { OperationConfig } from '../config/config.ts'
import type { RecordAdminEvent } from '../observe/audit/audit-line.ts'
import type { Log } from '../observe/log.ts'
import type { Group, OperationId } from '../operations.ts'

/** Says what an operator has said of something for a while, whatever the configuration says. */
export interface Override<State extends string = OperationConfig['state']> {
  readonly state: State
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Is what an operator can say of an endpoint. */
export type EndpointOverrideState = 'drain' | 'ready'

/** Names an endpoint behind a group. A URL holds no blank, so no two have the same key. */
export type EndpointKey = `${Group} ${string}`

/** Is what operators have said, to be looked up and listed. */
export interface OverridesView {
  readonly operations: Pick<TtlOverrides<OperationId, OperationConfig['state']>, 'get' | 'all'>
  readonly endpoints: Pick<TtlOverrides<EndpointKey, EndpointOverrideState>, 'get' | 'all'>
}

// Far more than one group has: who reroutes while orders hold leaves some behind, until their time is over.
const maxEndpointOverrides = 1000

/**
 * Keeps the operator's overrides, each with a time to live: what was done in an emergency does not stay for ever. They outlive a reload,
 * and end with the process.
 */
export class Overrides implements OverridesView {
  /** Of operations, by id. */
  readonly operations: TtlOverrides<OperationId, OperationConfig['state']>
  /** Of endpoints, by {@link toEndpointKey}: also of one that no configuration names at present. */
  readonly endpoints: TtlOverrides<EndpointKey, EndpointOverrideState>
  #queueTail: Promise<unknown> = Promise.resolve()

  /** Each is told which one has ended of itself. */
  constructor(
    onOperation: (id: OperationId) => void = () => {},
    onEndpoint: (ended: ReturnType<typeof parseEndpointKey>) => void = () => {},
  ) {
    this.operations = new TtlOverrides(onOperation)
    this.endpoints = new TtlOverrides((key) => onEndpoint(parseEndpointKey(key)), maxEndpointOverrides)
  }

  /** Has orders given one after the other: each begins with what came of the one before, which may take its time to be refused. */
  runExclusive<T>(command: () => Promise<T>): Promise<T> {
    const result = this.#queueTail.then(command)
    this.#queueTail = result.catch(() => {})
    return result
  }

  /** Ends all of them, so that no timer is left. */
  clear(): void {
    this.operations.clear()
    this.endpoints.clear()
  }
}

type OverrideEntries<Key, State extends string> = readonly (readonly [Key, Override<State>])[]

/** Keeps orders that each hold for a time, at most one for a key. */
export class TtlOverrides<Key extends string, State extends string> {
  readonly #onExpiry: (key: Key) => void
  readonly #max: number
  readonly #entries = new Map<Key, { readonly override: Override<State>; readonly alarm: CoalescedTimer }>()

  /** `onExpiry` is told which one has ended of itself. */
  constructor(onExpiry: (key: Key) => void, max = Number.POSITIVE_INFINITY) {
    this.#onExpiry = onExpiry
    this.#max = max
  }

  /** Finds what holds just now; null: what the configuration says. */
  get(key: Key): Override<State> | null {
    return this.#entries.get(key)?.override ?? null
  }

  /** Lists what holds just now. */
  get all(): OverrideEntries<Key, State> {
    return [...this.#entries].map(([key, { override }]) => [key, override])
  }

  /** Tells whether there is room for an order. */
  hasRoomFor(key: Key): boolean {
    return this.#entries.has(key) || this.#entries.size < this.#max
  }

  /** Gives an order, in place of what was said before. Throws when there is no room for it. */
  set(key: Key, state: State, ttlMs: number): Override<State> {
    if (!this.hasRoomFor(key)) throw new Error(`there are ${this.#max} orders already`)
    this.remove(key)
    const alarm = new CoalescedTimer(() => {
      this.#entries.delete(key)
      this.#onExpiry(key)
    })
    alarm.set(ttlMs)
    const override = { state, until: epochMs() + ttlMs }
    this.#entries.set(key, { override, alarm })
    return override
  }

  /** Has again what held before an order that was refused: for the time that it has left, and if that is over, it ends as it would have. */
  restore(key: Key, before: Override<State> | null): void {
    this.remove(key)
    if (before !== null) this.set(key, before.state, Math.max(1, before.until - epochMs()))
  }

  /** Ends an order early. */
  remove(key: Key): void {
    this.#entries.get(key)?.alarm.clear()
    this.#entries.delete(key)
  }

  /** Ends all of them. */
  clear(): void {
    for (const key of [...this.#entries.keys()]) this.remove(key)
  }
}

/** Makes the key of an endpoint; `url` is how `/status` shows it. */
export const toEndpointKey = (group: Group, url: string): EndpointKey => `${group} ${url}`

/** Tells whether an endpoint takes no new work: an operator's word goes before the file's. */
export const isDrained = (overrides: OverridesView['endpoints'], key: EndpointKey, byFile: boolean): boolean =>
  (overrides.get(key)?.state ?? (byFile ? 'drain' : 'ready')) === 'drain'

/** Tells whose key it is, as the log names it. */
export const parseEndpointKey = (key: EndpointKey): { readonly group: string; readonly endpoint: string } => {
  const [group = '', endpoint = ''] = key.split(' ', 2)
  return { group, endpoint }
}

// An order whose time is over is in effect no longer than it has to be.
const retryMs = 1000

interface OverridesOptions {
  readonly log: Log
  readonly recordAdminEvent: RecordAdminEvent
  /** Puts into effect what holds by now. */
  reapply(): Promise<void>
  /** Tells whether nothing is put into effect any more. */
  isClosing(): boolean
}

/** Keeps the orders of a gateway, and puts into effect that one has ended of itself. */
export const createOverrides = ({ log, recordAdminEvent, reapply, isClosing }: OverridesOptions): Overrides => {
  const applyExpiry = (done: () => void, failed: (error: unknown) => void): void => {
    reapply().then(done, (error) => {
      if (isClosing()) return
      failed(error)
      // A worker that hangs has it refused. Nobody else asks for it: a file that says the same puts nothing into effect.
      setTimeout(() => applyExpiry(done, failed), retryMs).unref()
    })
  }
  return new Overrides(
    (operation) =>
      applyExpiry(
        () => {
          log.info({ operation }, 'override ended')
          recordAdminEvent('override ended', { operation })
        },
        (err) => log.error({ operation, err }, 'an override could not be ended'),
      ),
    (ended) =>
      applyExpiry(
        () => {
          log.info(ended, 'endpoint order ended')
          recordAdminEvent('endpoint order ended', ended)
        },
        (err) => log.error({ ...ended, err }, 'an endpoint order could not be ended'),
      ),
  )
}
