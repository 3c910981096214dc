import { LRUCache } from 'lru-cache'
import type { Config } from '../../../core/config/config.ts'
import { CoalescedTimer, now } from '../../../core/lib/clock.ts'
import type { LogEvent } from '../../../core/log/log.ts'
import type { Group } from '../../../operations.ts'
import type { ManagedRedis } from '../../redis/managed-redis.ts'
import { calmChanges, RedisRegistry } from '../../redis/redis-registry.ts'
import { findRedis, type RedisSettings } from '../../redis/redis-settings.ts'
import { isHeld, type KeptShift, listShiftPlans, purposeOfShifts, type ShiftPlan, shiftKey } from './shift-record.ts'
import { callShiftStore, isOlder, type OtherShift } from './shift-store.ts'
import type { Shifts, ShiftToKeep } from './shifts.ts'

interface SeenShift {
  readonly version: string
  /** The version that the next write follows: later than `version` when Redis has lost writes. */
  readonly latest: string
  /** The revision that Redis has. Null: Redis's record must be replaced. */
  readonly revision: number | null
  readonly writtenAt: number
}

interface Place {
  readonly settings: RedisSettings
  readonly link: ManagedRedis
  release(): void
}

const periodMs = 1000

// Each gateway writes its records again every hour: Redis expires those that no gateway holds.
const rewriteMs = 3_600_000

// A start, or an edit that adds a candidate, waits at most 1 s for a connection.
const readTimeoutMs = 1000

/** Without Redis, each gateway keeps its own shifts. */
export class SharedShifts {
  readonly #shifts: Shifts
  readonly #logEvent: LogEvent
  readonly #links: RedisRegistry
  readonly #seen = new LRUCache<string, SeenShift>({ max: 100 })
  readonly #timer = new CoalescedTimer(() => void this.#sync())
  #place: Place | null = null
  #isSyncing = false
  #isDueAgain = false
  #onShared = (): void => {}

  constructor(shifts: Shifts, logEvent: LogEvent) {
    this.#shifts = shifts
    this.#logEvent = logEvent
    const logChange = calmChanges(logEvent, 'shifts are kept in Redis', 'shifts cannot be kept in Redis')
    this.#links = new RedisRegistry((isShared, reason) => {
      logChange(isShared, reason)
      if (!isShared) return
      this.#onShared()
      this.#syncSoon()
    })
    shifts.onChange = () => this.#syncSoon()
  }

  /** Reads the records of new candidates from Redis. Waits at most 2 s. */
  async prepare(config: Config, isRollback = false) {
    const plans = listShiftPlans(config)
    const entries = Object.entries(plans) as readonly (readonly [Group, ShiftPlan])[]
    const purpose = purposeOfShifts(config)
    const settings = entries.length === 0 ? null : findRedis(config, purpose)
    const place = settings && { settings, ...this.#links.acquire(settings, purpose) }
    const fresh = entries.filter(([group, { digest }]) => this.#shifts.get(group)?.digest !== digest)
    const read = place === null || fresh.length === 0 ? null : await this.#readAll(place, fresh)
    const findKept = (group: Group, { digest }: ShiftPlan) => read?.get(shiftKey(group, digest)) ?? null
    const shifts = this.#shifts.prepare(plans, isRollback, findKept)
    return {
      ...shifts,
      commit: () => {
        if (JSON.stringify(this.#place?.settings) !== JSON.stringify(place?.settings)) {
          this.#seen.clear()
          this.#shifts.noteMoved()
        }
        this.#place?.release()
        this.#place = place
        this.#syncSoon()
        shifts.commit()
      },
      discard: () => place?.release(),
    }
  }

  close(): void {
    this.#timer.clear()
    this.#place?.release()
    this.#place = null
  }

  /** A text: why the record is not known. */
  async #readAll({ link, settings }: Place, plans: readonly (readonly [Group, ShiftPlan])[]) {
    if (!link.isShared) await this.#untilShared(link)
    const read = plans.map(async ([group, { digest }]): Promise<readonly [string, KeptShift | string | null]> => {
      const reply = await callShiftStore(link, settings.prefix, { group, digest }, '', null)
      const key = shiftKey(group, digest)
      if (reply !== null) {
        const version = reply.kind === 'other' ? reply.version : ''
        this.#seen.set(key, { ...nothingSeen, version, latest: version })
        return [key, reply.kind === 'other' ? reply.kept : null]
      }
      // Redis may have changed since the candidate ran before.
      this.#seen.delete(key)
      const reason = link.reason ?? 'it does not reply'
      this.#logEvent('warn', 'shift held', { group, reason })
      return [key, reason]
    })
    return new Map(await Promise.all(read))
  }

  #untilShared(link: ManagedRedis): Promise<void> {
    return new Promise((resolve) => {
      const timer = new CoalescedTimer(() => resolve())
      timer.set(readTimeoutMs)
      this.#onShared = () => {
        if (!link.isShared) return
        timer.clear()
        resolve()
      }
    })
  }

  #syncSoon(): void {
    if (this.#place !== null) this.#timer.set(1)
  }

  async #sync(): Promise<void> {
    const place = this.#place
    this.#isDueAgain = this.#isSyncing
    if (place === null || this.#isSyncing) return
    this.#isSyncing = true
    const done = await Promise.all(this.#shifts.all.map(([group]) => this.#syncGroup(place, group)))
    this.#isSyncing = false
    const isDone = done.every(Boolean) && !this.#isDueAgain
    if (this.#place !== null) this.#timer.set(isDone ? periodMs : 1)
  }

  async #syncGroup({ link, settings }: Place, group: Group): Promise<boolean> {
    const own = this.#shifts.toKeep(group)
    if (own === null || !link.isShared) return true
    const { digest, record, revision } = own
    const key = shiftKey(group, digest)
    // A held record is a placeholder, and never written.
    const seen = isHeld(own.record) ? undefined : this.#seen.get(key)
    const isWritten = seen !== undefined && (seen.revision !== revision || now() - seen.writtenAt > rewriteMs)
    const [plan, written] = [{ group, digest }, isWritten ? record : null]
    const reply = await callShiftStore(link, settings.prefix, plan, seen?.version ?? '', written, seen?.latest)
    if (reply === null) return true
    switch (reply.kind) {
      case 'kept':
        this.#seen.set(key, { version: reply.version, latest: reply.version, revision, writtenAt: now() })
        this.#shifts.markKept(group, own)
        break
      case 'gone':
        this.#seen.set(key, { ...nothingSeen, latest: seen?.latest ?? '' })
        break
      case 'same':
        if (seen !== undefined) break
        this.#seen.set(key, nothingSeen)
        if (isHeld(own.record)) this.#shifts.takeUp(group, digest, null)
        break
      case 'other':
        this.#takeUp(group, own, seen, reply)
    }
    return this.#shifts.toKeep(group)?.revision === this.#seen.get(key)?.revision
  }

  #takeUp(group: Group, own: ShiftToKeep, seen: SeenShift | undefined, { version, kept }: OtherShift): void {
    const key = shiftKey(group, own.digest)
    if (kept === null) this.#logEvent('warn', 'shift not understood', { group })
    // After a failover, Redis may lack confirmed writes: a stop must not end by that.
    const isBehind = seen !== undefined && isOlder(version, seen.latest, own.record.stop !== null)
    const isReplaced = isBehind || kept === null
    const latest = isBehind ? seen.latest : version
    this.#seen.set(key, { version, latest, revision: isReplaced ? null : own.revision, writtenAt: now() })
    if (!isReplaced || isHeld(own.record)) this.#shifts.takeUp(group, own.digest, kept)
  }
}

const nothingSeen: SeenShift = { version: '', latest: '', revision: null, writtenAt: 0 }
