import { now } from '../../../core/lib/clock.ts'
import { FairQuota } from '../../../core/lib/fair-quota.ts'
import type { DeferredWork } from '../../contract/check-queue.ts'
import type { CandidateShadowConfig } from '../config/candidate.ts'
import { type SlotEntry, SlotList } from './slot-list.ts'

/**
 * Why copies were not sent. `full`: `concurrency` is reached. `backoff`: earlier copies got no complete response.
 * `no-endpoint`: none is up and takes requests. `no-room`: `maxBytes` is used up. `body-too-large`: longer than
 * `maxBody`. `body-unfinished`: the request broke off. `credential-in-query`: the query holds a token. `stopped`: the
 * process stops, or copying was turned off.
 */
export const zeroShadowDrops = {
  full: 0,
  backoff: 0,
  'no-endpoint': 0,
  'no-room': 0,
  'body-too-large': 0,
  'body-unfinished': 0,
  'credential-in-query': 0,
  stopped: 0,
}

export type ShadowDropReason = keyof typeof zeroShadowDrops

/** By class of the status; `failed`: no complete response. */
export const zeroShadowOutcomes = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, failed: 0 }

type ShadowOutcome = keyof typeof zeroShadowOutcomes

/** Since the process started. Each of the `sent` that have ended has an outcome; `pairs` were compared. */
export const createShadowCounts = () =>
  structuredClone({ sent: 0, pairs: 0, outcomes: zeroShadowOutcomes, dropped: zeroShadowDrops })

export type ShadowReport = ShadowCopies['report']

/** Statuses outside the classes of RFC 9110 §15 count as 5xx. */
export const toShadowOutcome = (status: number): ShadowOutcome =>
  status < 300 ? '2xx' : status < 400 ? '3xx' : status < 500 ? '4xx' : '5xx'

export interface StoppableCopy extends SlotEntry {
  /** Whether the copy goes to the primary. */
  readonly isRepeat: boolean
  /** Cuts the copy without a result. */
  stop(): void
}

/** Repeats in flight: one request in 100 is sent to the primary twice, which must not burden it. */
export const maxRepeats = 4

/** One group's copies in this process. Outlives reloads: copies in flight count against the next bounds too. */
export class ShadowCopies {
  readonly counts = createShadowCounts()
  readonly repeats = createShadowCounts()
  /** Memory for request bodies and both responses. */
  readonly room = new FairQuota(0)
  /** Sends copies, after the requests of clients. */
  readonly sending: DeferredWork
  /** Compares pairs in idle time. Copies do not wait for it. */
  readonly comparing: DeferredWork
  readonly backoff = new CopyBackoff()
  readonly #underWay = new SlotList<StoppableCopy>()
  #repeating = 0
  #concurrency = 0
  #isOff = false
  #isStopped = false

  constructor(sending: DeferredWork, comparing: DeferredWork) {
    this.sending = sending
    this.comparing = comparing
  }

  get report() {
    const { outcomes, dropped, ...counts } = structuredClone(this.counts)
    return { ...counts, underWay: this.#underWay.size, repeated: this.repeats.sent, outcomes, dropped }
  }

  /** Of one group in one process. Null: no copy begins, even of an earlier request. */
  set bounds(bounds: Pick<CandidateShadowConfig, 'concurrency' | 'maxBytes'> | null) {
    this.#isOff = bounds === null
    if (bounds === null) return
    this.#concurrency = bounds.concurrency
    this.room.max = bounds.maxBytes
    // The new configuration may have mended the candidate.
    this.backoff.reset()
  }

  /** Repeats to the primary, in flight or waiting. */
  get repeating(): number {
    return this.#repeating
  }

  begin(copy: StoppableCopy): 'full' | 'stopped' | 'backoff' | null {
    if (this.#isStopped || this.#isOff) return 'stopped'
    if (this.#underWay.size >= this.#concurrency || (copy.isRepeat && this.#repeating >= maxRepeats)) return 'full'
    if (!copy.isRepeat && !this.backoff.take()) return 'backoff'
    this.#underWay.add(copy)
    if (copy.isRepeat) this.#repeating++
    return null
  }

  end(copy: StoppableCopy): void {
    if (this.#underWay.delete(copy) && copy.isRepeat) this.#repeating--
  }

  /** Cuts every copy and begins none: a process that stops does not wait for copies. */
  stop(): void {
    this.#isStopped = true
    for (const copy of [...this.#underWay.entries]) copy.stop()
  }
}

const failuresInARow = 5
const firstPauseMs = 1000
const maxPauseMs = 10_000

/**
 * Holds copies back while the candidate gives no complete responses: each copy would open a connection for nothing.
 * After 5 failures in a row, one copy is tried after 1 s, then after pauses that double up to 10 s, until a complete
 * response.
 */
export class CopyBackoff {
  #failures = 0
  #pausedUntil = Number.NEGATIVE_INFINITY

  take(): boolean {
    if (this.#failures < failuresInARow) return true
    if (now() < this.#pausedUntil) return false
    this.#failures++
    this.#pause()
    return true
  }

  end(isWhole: boolean): void {
    if (isWhole) this.reset()
    else if (this.#failures < failuresInARow && ++this.#failures === failuresInARow) this.#pause()
  }

  reset(): void {
    this.#failures = 0
    this.#pausedUntil = Number.NEGATIVE_INFINITY
  }

  #pause(): void {
    this.#pausedUntil = now() + Math.min(firstPauseMs * 2 ** (this.#failures - failuresInARow), maxPauseMs)
  }
}
