import type { Exchange } from '../../exchange/exchange.ts'
import { FailedAttempt, type FailureReason, type GatewayError } from '../../exchange/failures/errors.ts'
import { failureTable } from '../../exchange/failures/failure-table.ts'
import { epochMs, now } from '../../lib/clock.ts'

/** `nothing`: the client or the gateway ended the request. */
export type AttemptOutcome = 'success' | 'failure' | 'nothing'

export const classifyStatus = (status: number): AttemptOutcome => (status >= 500 ? 'failure' : 'success')

const minHeldBackMs = 1000

const ownLacks: ReadonlySet<FailureReason | null> = new Set(['no-descriptors', 'no-ports'] as const) // of this machine

/**
 * Decision 016. A slow client must not get all endpoints ejected, and an endpoint gives up a client only seconds after
 * the gateway has held its response back. A deadline counts if the attempt had all of it, because nothing else shows
 * that an endpoint hangs longer.
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
const floorMs = 1

/**
 * The time to the head of a response, in ms: rises at once, falls slowly (peak EWMA, as in Finagle). Silence counts
 * while a request waits: a hanging endpoint is not fast.
 */
export class PeakEwma {
  #estimateMs = floorMs
  #sampledAt = 0
  isKnown = false
  #pendingCount = 0
  #silentSince = 0

  requestSent(at: number): void {
    if (this.#pendingCount++ === 0) this.#silentSince = at
  }

  /** A failed response may be fast because no work was done, so it counts as the slowest that is remembered. */
  headReceived(ms: number, at: number, failed = false): void {
    this.#release()
    this.#silentSince = at
    this.#addSample(ms, at, failed)
  }

  /** Without this sample, a hanging endpoint would be fast again when the last waiting request gives up. */
  requestEnded(at: number = now(), failed = false): void {
    if (this.#pendingCount > 0) this.#addSample(this.#silence(at), at, failed)
    this.#release()
  }

  silenceAt(at: number): number {
    return this.#pendingCount > 0 ? this.#silence(at) : 0
  }

  at(at: number): number {
    return Math.max(this.#decayedEstimate(at), this.silenceAt(at))
  }

  #decayedEstimate(at: number): number {
    return floorMs + (this.#estimateMs - floorMs) * Math.exp(-Math.max(0, at - this.#sampledAt) / decayMs)
  }

  /** A lower sample lowers the estimate only by the time that has passed. */
  #addSample(ms: number, at: number, failed: boolean): void {
    if (!Number.isFinite(ms)) return // it would spoil the estimate for ever
    this.#estimateMs = Math.max(ms, failed ? this.#estimateMs : this.#decayedEstimate(at))
    this.#sampledAt = Math.max(at, this.#sampledAt)
    this.isKnown = true
  }

  #silence(at: number): number {
    return at - this.#silentSince
  }

  #release(): void {
    this.#pendingCount = Math.max(0, this.#pendingCount - 1)
  }
}

const bucketCount = 10

/** A count spans the last 90 to 100 % of `windowMs`, at constant cost. */
export class SlidingWindow {
  readonly #bucketMs: number
  readonly #requests: number[] = new Array(bucketCount).fill(0)
  readonly #failures: number[] = new Array(bucketCount).fill(0)
  #latest = 0
  #allRequests = 0
  #allFailures = 0

  constructor(windowMs: number) {
    this.#bucketMs = windowMs / bucketCount
  }

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
