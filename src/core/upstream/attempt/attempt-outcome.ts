import type { Exchange } from '../../exchange/exchange.ts'
import { FailedAttempt, type FailureReason, type GatewayError } from '../../exchange/failures/errors.ts'
import { failureTable } from '../../exchange/failures/kinds.ts'
import { epochMs, now } from '../../lib/clock.ts'

/** What a request says about its endpoint: `nothing` when the client or the gateway ended it. */
export type AttemptOutcome = 'success' | 'failure' | 'nothing'

/** Classifies a response by its status (RFC 9110 §15.6): an endpoint's own errors are failures. */
export const classifyStatus = (status: number): AttemptOutcome => (status >= 500 ? 'failure' : 'success')

// Endpoints wait for longer before they give a client up.
const minHeldBackMs = 1000

// No connection could be made, whatever the endpoint.
const ownLacks: ReadonlySet<FailureReason | null> = new Set(['no-descriptors', 'no-ports'] as const)

/**
 * Classifies a failure. A client that left, a request over its limits and the gateway's own faults say nothing about
 * the endpoint. Nor does an attempt that was given up in the queue, nor one that gave up an upload while it waited for
 * the client: a slow client could have every endpoint ejected. Nor does a response that the gateway held back for its
 * reader, for a second in all (`heldBackMs`), before its connection ended. A deadline counts when the attempt had all
 * of it to itself: where the deadline is shorter than the timeouts, nothing else would ever show that an endpoint
 * hangs.
 */
export const classifyFailure = (
  { kind, reason }: GatewayError,
  { attempts, endedInQueue, waitsForClient }: Pick<Exchange, 'attempts' | 'endedInQueue' | 'waitsForClient'>,
  heldBackMs = 0,
): AttemptOutcome => {
  const wasCutOff = kind === 'truncated' && (reason === 'reset' || reason === 'closed')
  if (endedInQueue || waitsForClient || ownLacks.has(reason) || (wasCutOff && heldBackMs >= minHeldBackMs))
    return 'nothing'
  return failureTable[kind].fault === 'upstream' || (kind === 'deadline-exceeded' && attempts.count === 1)
    ? 'failure'
    : 'nothing'
}

export type OnFailedAttempt = (attempt: FailedAttempt, exchange: Exchange) => void

/**
 * Records an attempt at its exchange if it failed, whatever becomes of the exchange, and has it counted. It is counted
 * too where a wait for the client keeps it from counting against the endpoint.
 */
export const recordIfFailed = (
  exchange: Exchange,
  endpoint: string,
  outcome: AttemptOutcome,
  errorOrStatus: GatewayError | number,
  onFailure: OnFailedAttempt,
): void => {
  if (
    outcome !== 'failure' &&
    (typeof errorOrStatus === 'number' || failureTable[errorOrStatus.kind].fault !== 'upstream')
  )
    return
  const attempt = new FailedAttempt(endpoint, errorOrStatus, epochMs())
  exchange.attempts.failed ??= []
  exchange.attempts.failed.push(attempt)
  onFailure(attempt, exchange)
}

const decayMs = 10_000
// Below it no difference counts; and the ratio of two estimates stays finite.
const floorMs = 1

/**
 * Estimates how long an endpoint takes to the head of its responses, in milliseconds: quick to believe that it is slow,
 * slow to believe that it is fast (peak EWMA, as in Finagle). A sample that is not confirmed is forgotten within 10 s
 * or so. While a request waits, silence counts as well: an endpoint that hangs must not look fast because it sends
 * nothing.
 */
export class PeakEwma {
  #estimateMs = floorMs
  #sampledAt = 0
  #isKnown = false
  #pendingCount = 0
  /** When a request first waited since the last head. It means nothing while none waits. */
  #silentSince = 0

  /** Whether a request has shown anything: without one, the estimate is the fastest that there is. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  requestSent(at: number): void {
    if (this.#pendingCount++ === 0) this.#silentSince = at
  }

  /**
   * Records that the head of a response came, `ms` after its request was given. A `failed` one may come at once,
   * because no work was done for it: it counts as the slowest response that is remembered.
   */
  headReceived(ms: number, at: number, failed = false): void {
    this.#release()
    this.#silentSince = at
    this.#addSample(ms, at, failed)
  }

  /**
   * Records a request that ended without the head of a response. It shows only that the endpoint is no faster than it
   * was silent. This must outlast the wait: an endpoint that hangs would be fast again as soon as the last waiting
   * request has given up. `failed`: by the endpoint's fault.
   */
  requestEnded(at: number = now(), failed = false): void {
    if (this.#pendingCount > 0) this.#addSample(this.#silence(at), at, failed)
    this.#release()
  }

  /** For how long, in ms, there has been no head although a request waits; 0: none waits. */
  silenceAt(at: number): number {
    return this.#pendingCount > 0 ? this.#silence(at) : 0
  }

  /** Returns the estimate; never below 1 ms. */
  at(at: number): number {
    return Math.max(this.#decayedEstimate(at), this.silenceAt(at))
  }

  #decayedEstimate(at: number): number {
    return floorMs + (this.#estimateMs - floorMs) * Math.exp(-Math.max(0, at - this.#sampledAt) / decayMs)
  }

  /**
   * Adds a sample. One above the estimate replaces it. One below pulls it down no further than the time since the last
   * sample has: a fast response must not make an endpoint look slower than it did a moment before, which an average
   * with the undecayed estimate would. A failure lets nothing be forgotten.
   */
  #addSample(ms: number, at: number, failed: boolean): void {
    if (!Number.isFinite(ms)) return // one would spoil the estimate for ever
    this.#estimateMs = Math.max(ms, failed ? this.#estimateMs : this.#decayedEstimate(at))
    this.#sampledAt = Math.max(at, this.#sampledAt)
    this.#isKnown = true
  }

  #silence(at: number): number {
    return at - this.#silentSince
  }

  #release(): void {
    this.#pendingCount = Math.max(0, this.#pendingCount - 1)
  }
}

const bucketCount = 10

/**
 * Counts requests and failures over the last `windowMs`, in ten buckets: a count spans the last 90 to 100 % of that
 * time, and costs the same however many requests there are.
 */
export class SlidingWindow {
  readonly #bucketMs: number
  readonly #requests: number[] = new Array(bucketCount).fill(0)
  readonly #failures: number[] = new Array(bucketCount).fill(0)
  /** The bucket that is being filled, counted from time 0. */
  #latest = 0
  #allRequests = 0
  #allFailures = 0

  constructor(windowMs: number) {
    this.#bucketMs = windowMs / bucketCount
  }

  /** Counts a request that ended, `at` on the monotonic clock. */
  record(failed: boolean, at: number): void {
    this.#advance(at)
    const i = this.#latest % bucketCount
    this.#requests[i] = (this.#requests[i] ?? 0) + 1
    this.#allRequests++
    if (!failed) return
    this.#failures[i] = (this.#failures[i] ?? 0) + 1
    this.#allFailures++
  }

  requests(at: number): number {
    this.#advance(at)
    return this.#allRequests
  }

  failures(at: number): number {
    this.#advance(at)
    return this.#allFailures
  }

  clear(): void {
    for (let i = 0; i < bucketCount; i++) this.#drop(i)
  }

  #advance(at: number): void {
    const bucket = Math.floor(at / this.#bucketMs)
    if (bucket <= this.#latest) return
    for (let each = Math.max(this.#latest, bucket - bucketCount) + 1; each <= bucket; each++)
      this.#drop(each % bucketCount)
    this.#latest = bucket
  }

  #drop(i: number): void {
    this.#allRequests -= this.#requests[i] ?? 0
    this.#allFailures -= this.#failures[i] ?? 0
    this.#requests[i] = 0
    this.#failures[i] = 0
  }
}
