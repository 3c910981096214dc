import { type BufferedResponseBody, bufferResponseBody } from '../../core/exchange/bodies/buffered-bodies.ts'
import { BytesBody } from '../../core/exchange/bodies/response-bodies.ts'
import {
  createBackgroundExchange,
  type Exchange,
  type Handler,
  type ProxyResponse,
} from '../../core/exchange/exchange.ts'
import type { IdempotencyOutcome, RecordedOutcome } from '../../core/exchange/exchange-outcomes.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { failureTable } from '../../core/exchange/failures/kinds.ts'
import { type HeaderFields, omitFields, perExchangeFields } from '../../core/exchange/header-fields.ts'
import { findRequestOwner, formatOwner } from '../../core/exchange/request-owner.ts'
import { CoalescedTimer, sleep } from '../../core/lib/clock.ts'
import { FairQuota, type QuotaShare, usualBodyBytes } from '../../core/lib/fair-quota.ts'
import type { Claim, IdempotencyStore, Settlement } from './store/idempotency-store.ts'

/** How long an attempt may go without a renewal, in milliseconds. Then its outcome is unknown: its gateway is gone. */
export const claimLeaseMs = 15_000

const renewalMs = claimLeaseMs / 3

// The pause before a store is told again what it could not be told.
const resendMs = 1000

/** An attempt that this process makes. It is renewed until it is settled. */
export class HeldClaim {
  readonly #store: IdempotencyStore
  readonly #claim: Claim
  readonly #renewal = new CoalescedTimer(() => void this.#renew())
  #isSettled = false

  constructor(store: IdempotencyStore, claim: Claim) {
    this.#store = store
    this.#claim = claim
    this.#renewal.set(renewalMs)
  }

  /**
   * Settles the attempt. A store that cannot be told is told again as long as the attempt may still be this one's;
   * that is not waited for.
   */
  async settle(settlement: Settlement): Promise<void> {
    this.#isSettled = true
    this.#renewal.clear()
    if ((await this.#tell(settlement)) === null) void this.#resend(settlement)
  }

  #tell(settlement: Settlement): Promise<boolean | null> {
    return this.#store.call({ type: 'settle', claim: this.#claim, settlement })
  }

  async #resend(settlement: Settlement): Promise<void> {
    for (let waitedMs = 0; waitedMs < claimLeaseMs; waitedMs += resendMs) {
      await sleep(resendMs)
      if ((await this.#tell(settlement)) !== null) return
    }
  }

  async #renew(): Promise<void> {
    const isHeld = await this.#store.call({ type: 'renew', claim: this.#claim })
    if (!this.#isSettled && isHeld !== false) this.#renewal.set(renewalMs)
  }
}

// Attempts that go on without their client, of one process.
const maxAbandoned = 1000

/**
 * The attempts of a process that go on without their client, whose repetition will ask what they led to. One owner has
 * no more of them, and of their bodies, than it leaves: a client that leaves again and again ends no other's attempt.
 */
export class AbandonedAttempts {
  readonly #places = new FairQuota(maxAbandoned)
  // The room of these was given back when their client left.
  readonly #bodies = new FairQuota(usualBodyBytes)
  readonly #attempts = new Set<Exchange>()

  /** Adds one. Returns what is called when it has ended; null: there are too many, or too large ones. */
  add(attempt: Exchange): (() => void) | null {
    const owner = formatOwner(findRequestOwner(attempt))
    const bytes = attempt.body.length ?? 0
    const [place, body] = [this.#places.shareOf(owner), this.#bodies.shareOf(owner)]
    if (!place.reserve(1)) return null
    if (!body.reserve(bytes)) {
      place.release(1)
      return null
    }
    this.#attempts.add(attempt)
    return () => {
      this.#attempts.delete(attempt)
      place.release(1)
      body.release(bytes)
    }
  }

  /** Ends all of them: the gateway stops, and does not wait any more. */
  cut(): void {
    const reason = new GatewayError('client-gone', { reason: 'shutdown-deadline' })
    for (const attempt of this.#attempts) attempt.abort(reason)
  }
}

/** Names what became of a request with a key, and the request that the key came with first, where it is another one. */
export const toRecord = (outcome: IdempotencyOutcome, firstRequestId: string | null = null): RecordedOutcome => {
  const stored = outcome === 'replayed' ? 'unknown-side' : null
  return { source: 'idempotency', outcome, firstRequestId, stored, isAudited: true }
}

interface AttemptOptions {
  readonly claim: HeldClaim
  /** A longer response is not kept. */
  readonly maxResponse: number
  readonly room: QuotaShare
  readonly abandoned: AbandonedAttempts
  /** Returns the digest of the request; null: its body has not come to its end. */
  fingerprint(): string | null
}

/**
 * Forwards a request whose body was read, and settles its claim before the client has the end of the response. The
 * client's leaving does not end it: a client that has lost its patience repeats the request, and is told the outcome.
 */
export const forwardDetachable = (
  exchange: Exchange,
  next: Handler,
  options: AttemptOptions,
): Promise<ProxyResponse> => {
  const own = createBackgroundExchange(exchange)
  /** Set while it goes on without its client: gives its room back. */
  let release: (() => void) | null = null
  return new Promise((resolve, reject) => {
    /** Returns whether the client still waits. */
    const onSettled = (): boolean => {
      if (release !== null) {
        release()
        exchange.servedBy?.release()
        own.finish()
      }
      return release === null
    }
    exchange.setAbortListener((reason) => {
      // A client that the gateway has cut off did not leave by itself.
      if (reason.kind === 'client-gone' && reason.reason !== 'shutdown-deadline') release = options.abandoned.add(own)
      if (release === null) return own.abort(reason)
      exchange.servedBy?.acquire() // also between two attempts, when it has no endpoint
      exchange.outcome = toRecord('abandoned')
      exchange.setAbortListener(null)
      reject(reason)
    })
    forwardAndSettle(exchange, own, next, options).then(
      (response) => {
        if (!onSettled()) return response.body.discard()
        exchange.setAbortListener((reason) => own.abort(reason))
        exchange.onFinished(() => own.finish())
        resolve(response)
      },
      (error) => {
        if (onSettled()) own.finish()
        exchange.setAbortListener(null)
        reject(error)
      },
    )
  })
}

/** Forwards a request as `own`, and settles its claim by what became of it. The deadline lasts until it is known. */
export const forwardAndSettle = async (
  exchange: Exchange,
  own: Exchange,
  next: Handler,
  { claim, maxResponse, room, fingerprint }: AttemptOptions,
): Promise<ProxyResponse> => {
  const settle = (state: ProcessedState, response: Buffer | null = null): Promise<void> => {
    exchange.outcome = toRecord(state === 'done' ? 'processed' : state)
    return claim.settle({ state, fingerprint: fingerprint(), response })
  }

  let endDeadline = (): void => {}
  own.holdDeadline = (end) => {
    endDeadline = end
  }
  // What its record says when the client leaves, and takes the request with it: the record is written at once.
  exchange.outcome = toRecord('unknown')
  let response: ProxyResponse
  try {
    response = await next(own)
  } catch (error) {
    await settle(classifyFailure(error, own))
    throw error
  }
  const { status, reason, fields } = response
  const state = classifyResponse(status, own)
  if (state !== 'done') {
    endDeadline()
    await settle(state)
    return response
  }
  let buffered: BufferedResponseBody
  try {
    buffered = await bufferResponseBody(response.body, own, maxResponse, room)
  } catch (error) {
    const failure = GatewayError.from(error)
    // The upstream has processed it; this process has no room for what it said.
    await settle(failure.kind === 'overloaded' ? 'done' : 'unknown')
    throw failure
  } finally {
    endDeadline()
  }
  const { whole, body } = buffered
  const isKept = whole !== null && own.attempts.last?.mayBeCut !== true
  await settle('done', isKept ? encodeKeptResponse({ status, reason, fields }, whole) : null)
  return { status, reason, fields, body }
}

/** What a response says of its request: it was processed, it was not, or that cannot be told. */
type ProcessedState = 'done' | 'free' | 'unknown'

// The upstream has not taken the request on: the credential, the rate, the time or the state of the resource was wrong,
// and a repetition may find it right.
const freeStatuses: ReadonlySet<number> = new Set([401, 403, 408, 409, 425, 429])

const classifyResponse = (status: number, own: Exchange): ProcessedState => {
  if (status >= 500) return 'unknown'
  if (!freeStatuses.has(status)) return 'done'
  return mayBeProcessed(own) ? 'unknown' : 'free'
}

const classifyFailure = (error: unknown, own: Exchange): ProcessedState => {
  if (!own.attempts.wasSent) return 'free'
  return error instanceof GatewayError && sentNothing(error) && !mayBeProcessed(own) ? 'free' : 'unknown'
}

/** Tells whether an attempt that failed may have been processed: something was sent. */
const mayBeProcessed = ({ attempts }: Exchange): boolean =>
  attempts.failed?.some(({ errorOrStatus: end }) => typeof end === 'number' || !sentNothing(end)) === true

const sentNothing = ({ kind }: GatewayError): boolean => failureTable[kind].retry === 'always'

/** The field of a replayed response. It is this gateway's own: the draft has none. */
const replayedField = 'Idempotency-Replayed'

// A cookie is for whom the first response was for, and may be over by the time of a replay.
const unkeptFields: ReadonlySet<string> = new Set(['set-cookie', 'set-cookie2', ...perExchangeFields])

/**
 * Encodes a response to be replayed: the length of its head in four bytes, the head as JSON, the body. It may lie in
 * memory that others share, so stores copy it.
 */
export const encodeKeptResponse = ({ status, reason, fields }: Omit<ProxyResponse, 'body'>, body: Buffer): Buffer => {
  const head = JSON.stringify([status, reason, omitFields(fields, unkeptFields)])
  const headLength = Buffer.byteLength(head)
  const encoded = Buffer.allocUnsafe(4 + headLength + body.length)
  encoded.writeUInt32BE(headLength)
  encoded.write(head, 4)
  body.copy(encoded, 4 + headLength)
  return encoded
}

/** Decodes a response that {@link encodeKeptResponse} has encoded, marked as replayed. */
export const decodeKeptResponse = (encoded: Buffer): ProxyResponse => {
  const bodyAt = 4 + encoded.readUInt32BE(0)
  const [status, reason, fields] = JSON.parse(encoded.toString('utf8', 4, bodyAt)) as [number, string, HeaderFields]
  return {
    status,
    reason,
    fields: [...fields, replayedField, 'true'],
    body: new BytesBody(encoded.subarray(bodyAt)),
  }
}
