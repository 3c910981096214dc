import type { Group, OperationId } from '../../operations.ts'
import type { OperationConfig } from '../config/config.ts'
import { CoalescedTimer, epochMs, systemMs, systemToEpochMs } from '../lib/clock.ts'
import type { Log } from '../log/log.ts'
import type { DrainedBy } from '../upstream/endpoints/group-endpoint.ts'

/** A state that an operator has set for a while, whatever the configuration says. */
export interface Override<State = OperationConfig['state']> {
  readonly state: State
  /** The operator who set it: a name, else an address. */
  readonly by: string
  /** Why, in the operator's words. Null: none were given. */
  readonly reason: string | null
  /** When it was set, in milliseconds since the epoch. */
  readonly since: number
  /** When it ends, in milliseconds since the epoch: for operators. */
  readonly until: number
  /** When it ends, on the monotonic clock of the system. */
  readonly endsAt: number
}

export type EndpointOverrideState = 'drain' | 'ready'

/** The key of an endpoint behind a group. A URL holds no blank, so no two have the same key. */
type EndpointKey = `${Group} ${string}`

/** What goes before the file, by kinds. Features add theirs by `declare module`. */
export interface OverridesView {
  readonly operations: Pick<TtlOverrides<OperationId, OperationConfig['state']>, 'get' | 'all'>
  readonly endpoints: Pick<TtlOverrides<EndpointKey, EndpointOverrideState>, 'get' | 'all'>
}

// Far more than one group has: an operator who reroutes while overrides hold leaves some behind until they expire.
const maxEndpointOverrides = 1000

/**
 * The operators' overrides, each with a time to live: what was done in an emergency does not stay for ever. They
 * outlive a reload, and end with the process.
 */
export class Overrides implements OverridesView {
  readonly operations: TtlOverrides<OperationId, OperationConfig['state']>
  /** By {@link toEndpointKey}, also of an endpoint that no configuration names at present. */
  readonly endpoints: TtlOverrides<EndpointKey, EndpointOverrideState>

  /** Each callback is called with the override that has expired. */
  constructor(
    onOperation: (id: OperationId) => void = () => {},
    onEndpoint: (endpoint: ReturnType<typeof parseEndpointKey>) => void = () => {},
  ) {
    this.operations = new TtlOverrides(onOperation)
    this.endpoints = new TtlOverrides((key) => onEndpoint(parseEndpointKey(key)), maxEndpointOverrides)
  }

  /** Removes all overrides, so that no timer is left. */
  clear(): void {
    this.operations.clear()
    this.endpoints.clear()
  }
}

// Two clocks are never read at the same moment: less than this is no step of the wall clock.
const minStepMs = 1000

type OverrideEntries<Key, State> = readonly (readonly [Key, Override<State>])[]

export class TtlOverrides<Key extends string, State> {
  readonly #onExpiry: (key: Key) => void
  readonly #max: number
  readonly #entries = new Map<Key, { override: Override<State>; readonly timer: CoalescedTimer }>()

  constructor(onExpiry: (key: Key) => void, max = Number.POSITIVE_INFINITY) {
    this.#onExpiry = onExpiry
    this.#max = max
  }

  /** Returns the override that holds now. Null: the configuration decides. */
  get(key: Key): Override<State> | null {
    this.#correctTimes()
    return this.#entries.get(key)?.override ?? null
  }

  get all(): OverrideEntries<Key, State> {
    this.#correctTimes()
    return [...this.#entries].map(([key, { override }]) => [key, override])
  }

  hasRoomFor(key: Key): boolean {
    return this.#entries.has(key) || this.#entries.size < this.#max
  }

  /** Sets an override, in place of the one before. Throws when there is no room for it. */
  set(
    key: Key,
    state: State,
    ttlMs: number,
    by: string,
    reason: string | null = null,
    since = epochMs(),
  ): Override<State> {
    if (!this.hasRoomFor(key)) throw new Error(`there are ${this.#max} orders already`)
    this.remove(key)
    const timer = new CoalescedTimer(() => {
      this.#entries.delete(key)
      this.#onExpiry(key)
    })
    timer.set(ttlMs)
    const override = { state, by, reason, since, until: epochMs() + ttlMs, endsAt: systemMs() + ttlMs }
    this.#entries.set(key, { override, timer })
    return override
  }

  /**
   * Restores the override that held before a command that was rejected, for the time it has left. One without time left
   * expires as it would have.
   */
  restore(key: Key, before: Override<State> | null): void {
    this.remove(key)
    if (before === null) return
    const { state, endsAt, by, reason, since } = before
    this.set(key, state, Math.max(1, endsAt - systemMs()), by, reason, since)
  }

  remove(key: Key): void {
    this.#entries.get(key)?.timer.clear()
    this.#entries.delete(key)
  }

  /** Corrects the ends that operators are shown, where the wall clock was set since. */
  #correctTimes(): void {
    for (const entry of this.#entries.values()) {
      const until = systemToEpochMs(entry.override.endsAt)
      if (Math.abs(until - entry.override.until) >= minStepMs) entry.override = { ...entry.override, until }
    }
  }

  clear(): void {
    for (const key of [...this.#entries.keys()]) this.remove(key)
  }
}

/** `url` is how `/status` shows it. */
export const toEndpointKey = (group: Group, url: string): EndpointKey => `${group} ${url}`

/** Returns by what an endpoint takes no new requests: an override goes before the file. Null: it takes some. */
export const findDrain = (
  overrides: OverridesView['endpoints'],
  key: EndpointKey,
  byFile: boolean,
): DrainedBy | null => {
  const override = overrides.get(key)
  if (override === null) return byFile ? 'file' : null
  return override.state === 'drain' ? 'order' : null
}

const parseEndpointKey = (key: EndpointKey): { readonly group: string; readonly endpoint: string } => {
  const [group = '', endpoint = ''] = key.split(' ', 2)
  return { group, endpoint }
}

// An override that has expired is in effect no longer than necessary.
const retryMs = 1000

/** Puts the overrides that hold now into effect, and tries until it is done or the gateway stops. */
export type ReapplyOverrides = (onApplied: () => void, onError: (error: unknown) => void, isUrgent?: boolean) => void

/**
 * `reapply` puts the overrides that hold now into effect; `isUrgent`: without waiting for workers that do not answer.
 * `isClosing` tells whether the gateway is stopping, so that nothing is put into effect any more.
 */
export const createReapply = (
  reapply: (isUrgent: boolean) => Promise<void>,
  isClosing: () => boolean,
): ReapplyOverrides => {
  const run: ReapplyOverrides = (onApplied, onError, isUrgent = false) =>
    void reapply(isUrgent).then(onApplied, (error) => {
      if (isClosing()) return
      onError(error)
      // A worker that hangs makes it fail. Nothing else retries it: a reload of an unchanged file puts nothing into
      // effect.
      setTimeout(() => run(onApplied, onError, isUrgent), retryMs).unref()
    })
  return run
}

/** Records what operators did, or had done: the event by its name in the log, and its fields. */
export type RecordAdminEvent = (
  event: string,
  fields: Readonly<Record<string, string | number | boolean | null>>,
) => void

export const createOverrides = (log: Log, recordAdminEvent: RecordAdminEvent, reapply: ReapplyOverrides): Overrides =>
  new Overrides(
    (operation) =>
      reapply(
        () => {
          log.info({ operation }, 'override ended')
          recordAdminEvent('override ended', { operation })
        },
        (err) => log.error({ operation, err }, 'an override could not be ended'),
      ),
    (endpoint) =>
      reapply(
        () => {
          log.info(endpoint, 'endpoint order ended')
          recordAdminEvent('endpoint order ended', endpoint)
        },
        (err) => log.error({ ...endpoint, err }, 'an endpoint order could not be ended'),
      ),
  )
