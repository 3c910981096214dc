import type { Group, OperationId } from '../../operations.ts'
import type { OperationConfig } from '../config/config.ts'
import { CoalescedTimer, epochMs, systemMs, systemToEpochMs } from '../lib/clock.ts'
import { asNullable, asText } from '../lib/text/decode.ts'
import { formatOptionalTime } from '../lib/text/format-time.ts'
import type { Log } from '../log/log.ts'
import type { DrainedBy } from '../upstream/endpoints/group-endpoint.ts'

export interface Override<State = OperationConfig['state']> {
  readonly state: State
  /** A name, else an address. */
  readonly by: string
  readonly reason: string | null
  /** In ms since the epoch, like `until`. For display. */
  readonly since: number
  readonly until: number
  /** On the system's monotonic clock. */
  readonly endsAt: number
}

export type EndpointOverrideState = 'drain' | 'ready'

type EndpointKey = `${Group} ${string}` // a URL has no blank, so keys are unambiguous

export interface OverridesView {
  readonly operations: Pick<TtlOverrides<OperationId, OperationConfig['state']>, 'get' | 'all'>
  readonly endpoints: Pick<TtlOverrides<EndpointKey, EndpointOverrideState>, 'get' | 'all'>
}

// Far more endpoints than a group has: after a rerouting, some overrides stay until they expire.
const maxEndpointOverrides = 1000

/** Overrides expire, so that no emergency measure stays for ever. They outlive a reload, and end with the process. */
export class Overrides implements OverridesView {
  readonly operations: TtlOverrides<OperationId, OperationConfig['state']>
  /** Includes endpoints that the configuration lacks at present. */
  readonly endpoints: TtlOverrides<EndpointKey, EndpointOverrideState>

  constructor(
    onOperation: (id: OperationId) => void = () => {},
    onEndpoint: (endpoint: ReturnType<typeof parseEndpointKey>) => void = () => {},
  ) {
    this.operations = new TtlOverrides(onOperation)
    this.endpoints = new TtlOverrides((key) => onEndpoint(parseEndpointKey(key)), maxEndpointOverrides)
  }

  clear(): void {
    this.operations.clear()
    this.endpoints.clear()
  }
}

// The two clocks are not read at the same moment: a smaller difference is no step of the wall clock.
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

  set(
    key: Key,
    state: State,
    ttlMs: number,
    by: string,
    reason: string | null = null,
    since = epochMs(),
  ): Override<State> {
    if (!this.hasRoomFor(key)) throw new Error(`there are ${this.#max} overrides already`)
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

  /** `before`: the override that a rejected command replaced; null: none, so the rejected one expires at once. */
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

export const toEndpointKey = (group: Group, url: string): EndpointKey => `${group} ${url}`

export const findDrain = (
  overrides: OverridesView['endpoints'],
  key: EndpointKey,
  byFile: boolean,
): DrainedBy | null => {
  const override = overrides.get(key)
  if (override === null) return byFile ? 'file' : null
  return override.state === 'drain' ? 'operator' : null
}

const parseEndpointKey = (key: EndpointKey) => {
  const [group = '', endpoint = ''] = key.split(' ', 2)
  return { group, endpoint }
}

const retryMs = 1000

export type ReapplyOverrides = (onApplied: () => void, onError: (error: unknown) => void, isUrgent?: boolean) => void

/** `isUrgent`: silent workers are not waited for. */
export const createReapply = (
  reapply: (isUrgent: boolean) => Promise<void>,
  isClosing: () => boolean,
): ReapplyOverrides => {
  const run: ReapplyOverrides = (onApplied, onError, isUrgent = false) =>
    void reapply(isUrgent).then(onApplied, (error) => {
      if (isClosing()) return
      onError(error)
      // A hung worker makes `reapply` fail. A reload of an unchanged file applies nothing, so it would not retry.
      setTimeout(() => run(onApplied, onError, isUrgent), retryMs).unref()
    })
  return run
}

export type RecordAdminEvent = (
  event: string,
  fields: Readonly<Record<string, string | number | boolean | null>>,
) => void

export const createOverrides = (log: Log, recordAdminEvent: RecordAdminEvent, reapply: ReapplyOverrides): Overrides =>
  new Overrides(
    (operation) =>
      reapply(
        () => {
          log.info({ operation }, 'operation override ended')
          recordAdminEvent('operation override ended', { operation })
        },
        (err) => log.error({ operation, err }, 'an operation override could not be ended'),
      ),
    (endpoint) =>
      reapply(
        () => {
          log.info(endpoint, 'endpoint override ended')
          recordAdminEvent('endpoint override ended', endpoint)
        },
        (err) => log.error({ ...endpoint, err }, 'an endpoint override could not be ended'),
      ),
  )

export const overrideMembers = {
  setBy: asNullable(asText),
  setAt: asNullable(asText),
  /** Null: none given, or the peer is of an earlier version. */
  setReason: asNullable(asText),
}

export const overrideStatus = (override: Pick<Override, 'by' | 'since' | 'reason'> | null) => ({
  setBy: override?.by ?? null,
  setAt: formatOptionalTime(override?.since),
  setReason: override?.reason ?? null,
})
