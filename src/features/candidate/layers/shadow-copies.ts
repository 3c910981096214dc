import type { Handler } from '../../../core/exchange/exchange.ts'
import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { now } from '../../../core/lib/clock.ts'
import { FairQuota } from '../../../core/lib/fair-quota.ts'
import type { OperationId } from '../../../operations.ts'
import type { DeferredWork } from '../../contract/check-queue.ts'
import type { CandidateShadowConfig } from '../config/candidate.ts'
import type { OnShadowPair } from '../observe/compare/comparison.ts'
import { type SlotEntry, SlotList } from './slot-list.ts'

/**
 * Counts, all 0, of copies that were not sent, by reason. `full`: as many as may are under way. `backoff`: those before
 * it got no whole answers. `no-endpoint`: no endpoint is up that takes work. `no-room`: its body found no room.
 * `body-too-large`: its body is longer than is copied. `body-unfinished`: its body did not come to its end.
 * `credential-in-query`: its query holds a token. `stopped`: the process stops, or nothing is copied any more.
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

/** Counts, all 0, of answers to copies: by the class of the status, or `failed` where there is no whole answer. */
export const zeroShadowOutcomes = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, failed: 0 }

type ShadowOutcome = keyof typeof zeroShadowOutcomes

/** What became of the copies to one candidate, since the process started. */
interface ShadowCounts {
  /** The copies that were sent. Of those that have ended, each has an outcome. */
  sent: number
  /** The pairs of answers that were handed on. */
  pairs: number
  readonly outcomes: Record<ShadowOutcome, number>
  readonly dropped: Record<ShadowDropReason, number>
}

export interface ShadowReport extends Readonly<ShadowCounts> {
  readonly underWay: number
  /** The requests that the primary was sent twice, so that its noise is learnt. */
  readonly repeated: number
}

export const createShadowCounts = (): ShadowCounts => ({
  sent: 0,
  pairs: 0,
  outcomes: { ...zeroShadowOutcomes },
  dropped: { ...zeroShadowDrops },
})

/** Classifies a whole answer by its status. Statuses that no class of RFC 9110 §15 has count as 5xx. */
export const toShadowOutcome = (status: number): ShadowOutcome =>
  status < 300 ? '2xx' : status < 400 ? '3xx' : status < 500 ? '4xx' : '5xx'

/** What sends requests once more, on connections that carry nothing else. */
export interface CopySender {
  readonly send: Handler
  /** Returns whether an endpoint is up that takes work. */
  isUp(): boolean
  /** Null: answers are counted, and not compared. */
  readonly onPair: OnShadowPair | null
}

export interface CopyDestination extends CopySender {
  readonly toFields: (fields: HeaderFields) => HeaderFields
  readonly forwardsCredentials: boolean
  readonly counts: ShadowCounts
  /** Called when a copy goes out; null: nothing is. */
  readonly onSend: ((operation: OperationId) => void) | null
  /** How long a repeated request waits. Null: it goes to the candidate, at once. */
  readonly afterMs: number | null
}

/** How each copy is made. */
export interface CopyOptions {
  readonly copies: ShadowCopies
  /** The longest that a copy may take, to the end of its answer. */
  readonly timeoutMs: number
  /** A request with a longer body is not copied. Of a longer answer there is the hash alone. */
  readonly maxBody: number
  /** The field that carries the request id, in lower case; null: there is none. */
  readonly requestIdField: string | null
}

export interface StoppableCopy extends SlotEntry {
  /** Whether it goes to the primary once more. */
  readonly isRepeat: boolean
  /** Cuts it: nothing comes of it any more. */
  stop(): void
}

/** How much the copies of a group may take of a process. */
type ShadowBounds = Pick<CandidateShadowConfig, 'concurrency' | 'maxBytes'>

/** One request in a hundred is sent to the primary twice: it is not to have more of them at once than this. */
export const maxRepeats = 4

/**
 * The copies of one group's requests that are under way in a process, and what became of those before. It outlives
 * reloads: what is under way counts against the bounds of the next configuration too.
 */
export class ShadowCopies {
  readonly counts = createShadowCounts()
  /** What became of requests that the primary was sent twice. */
  readonly repeats = createShadowCounts()
  /** The room for their bodies, and for both answers. */
  readonly room = new FairQuota(0)
  /** What sends copies, behind the requests of clients. */
  readonly sending: DeferredWork
  /** What is done with pairs when nothing waits for it. It holds no copy up. */
  readonly comparing: DeferredWork
  /** Whether the candidate gives answers that are worth a copy. */
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

  get report(): ShadowReport {
    const { outcomes, dropped, ...counts } = this.counts
    return {
      ...counts,
      underWay: this.#underWay.size,
      repeated: this.repeats.sent,
      outcomes: { ...outcomes },
      dropped: { ...dropped },
    }
  }

  /** Null: none begins any more, also of a request from before. */
  set bounds(bounds: ShadowBounds | null) {
    this.#isOff = bounds === null
    if (bounds === null) return
    this.#concurrency = bounds.concurrency
    this.room.max = bounds.maxBytes
    // The configuration may be another one.
    this.backoff.reset()
  }

  /** How many requests are on their way to the primary once more, or wait for that. */
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

  /** Cuts every copy, and lets none begin any more: a process that stops does not wait for them. */
  stop(): void {
    this.#isStopped = true
    for (const copy of [...this.#underWay.entries]) copy.stop()
  }
}

const failuresInARow = 5
const firstPauseMs = 1000
const maxPauseMs = 10_000

/**
 * Holds copies back while a candidate gives no whole answers: each copy would open a connection for nothing. After five
 * failures in a row one copy goes out after a second, and after a pause of twice the length each time it fails, up to
 * ten seconds. A whole answer ends it.
 */
export class CopyBackoff {
  #failures = 0
  #pausedUntil = Number.NEGATIVE_INFINITY

  /** Whether a copy may go out now: while the candidate fails, one for each pause. */
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

  /** Lets all copies out again. */
  reset(): void {
    this.#failures = 0
    this.#pausedUntil = Number.NEGATIVE_INFINITY
  }

  #pause(): void {
    this.#pausedUntil = now() + Math.min(firstPauseMs * 2 ** (this.#failures - failuresInARow), maxPauseMs)
  }
}
