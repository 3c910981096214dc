import { type BufferedResponseBody, bufferResponseBody } from '../../core/exchange/bodies/buffered-bodies.ts'
import { BytesBody } from '../../core/exchange/bodies/response-bodies.ts'
import {
  createBackgroundExchange,
  type Exchange,
  type Handler,
  type ProxyResponse,
  type RecordedOutcome,
} from '../../core/exchange/exchange.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { failureTable } from '../../core/exchange/failures/failure-table.ts'
import { type HeaderFields, omitFields, perExchangeFields } from '../../core/exchange/header-fields.ts'
import { findRequestOwner, formatOwner } from '../../core/exchange/request-owner.ts'
import { CoalescedTimer, sleep } from '../../core/lib/clock.ts'
import { FairQuota, type QuotaShare, usualBodyBytes } from '../../core/lib/fair-quota.ts'
import type { CallOf, Claim, IdempotencyOutcome, IdempotencyStore, Settlement } from './store/idempotency-store.ts'

/** Milliseconds. Without a renewal for this long, the attempt's gateway is gone and the outcome unknown. */
export const claimLeaseMs = 15_000

const renewalMs = claimLeaseMs / 3

const resendMs = 1000

/** Renews a claim until the returned function settles it. */
export const holdClaim = (store: IdempotencyStore, claim: Claim) => {
  let isSettled = false
  const renewal: CoalescedTimer = new CoalescedTimer(async () => {
    const isHeld = await store.call({ type: 'renew', claim })
    if (!isSettled && isHeld !== false) renewal.set(renewalMs)
  })
  renewal.set(renewalMs)
  /** Without a reply, the settlement is sent again while the lease may hold; the caller does not wait. */
  return async (settlement: Settlement): Promise<void> => {
    isSettled = true
    renewal.clear()
    const call = { type: 'settle', claim, settlement } as const
    if ((await store.call(call)) === null) void resend(store, call)
  }
}

const resend = async (store: IdempotencyStore, call: CallOf<'settle'>): Promise<void> => {
  for (let waitedMs = 0; waitedMs < claimLeaseMs; waitedMs += resendMs) {
    await sleep(resendMs)
    if ((await store.call(call)) !== null) return
  }
}

const maxAbandoned = 1000

/** Attempts whose client has left. An owner may use half of the free places and bytes, so no owner ends another's. */
export class AbandonedAttempts {
  readonly #places = new FairQuota(maxAbandoned)
  // Separate from the places of running requests, which a client that leaves gives back.
  readonly #bodies = new FairQuota(usualBodyBytes)
  readonly #attempts = new Set<Exchange>()

  /** Returns a function to call at the end; null: too many attempts or bytes. */
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

  /** When the gateway stops. */
  cut(): void {
    const reason = new GatewayError('client-gone', { reason: 'shutdown-deadline' })
    for (const attempt of this.#attempts) attempt.abort(reason)
  }
}

/** `firstRequestId`: of an earlier request with the key. */
export const toRecord = (outcome: IdempotencyOutcome, firstRequestId: string | null = null): RecordedOutcome => {
  const stored = outcome === 'replayed' ? 'unknown-side' : null
  return { source: 'idempotency', outcome, firstRequestId, stored, isAudited: true }
}

interface AttemptOptions {
  readonly settleClaim: ReturnType<typeof holdClaim>
  readonly maxResponse: number // a longer response is not stored
  readonly room: QuotaShare
  readonly abandoned: AbandonedAttempts
  /** Null: the body has not ended. */
  fingerprint(): string | null
}

/** Settles the claim before the response is whole. Continues without the client, who may repeat the request. */
export const forwardDetachable = (
  exchange: Exchange,
  next: Handler,
  options: AttemptOptions,
): Promise<ProxyResponse> => {
  const own = createBackgroundExchange(exchange)
  /** Set when the client has left; releases the attempt's room. */
  let release: (() => void) | null = null
  return new Promise((resolve, reject) => {
    const onSettled = (): boolean => {
      if (release !== null) {
        release()
        exchange.servedBy?.release()
        own.finish()
      }
      return release === null
    }
    exchange.setAbortListener((reason) => {
      // The gateway cut this client off: it did not leave.
      if (reason.kind === 'client-gone' && reason.reason !== 'shutdown-deadline') release = options.abandoned.add(own)
      if (release === null) return own.abort(reason)
      exchange.servedBy?.acquire() // also between two attempts, without an endpoint
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

/** The deadline ends when the outcome is known. */
export const forwardAndSettle = async (
  exchange: Exchange,
  own: Exchange,
  next: Handler,
  { settleClaim, maxResponse, room, fingerprint }: AttemptOptions,
): Promise<ProxyResponse> => {
  const settle = (state: ProcessedState, response: Buffer | null = null): Promise<void> => {
    exchange.outcome = toRecord(state === 'done' ? 'processed' : state)
    return settleClaim({ state, fingerprint: fingerprint(), response })
  }

  let endDeadline = (): void => {}
  own.holdDeadline = (end) => {
    endDeadline = end
  }
  // If the client leaves and that ends the request, the access record is written at once, with this outcome.
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

/** `done`: processed. `free`: not processed. */
type ProcessedState = 'done' | 'free' | 'unknown'

// Not processed: a repetition may succeed with another credential, rate, time or state of the resource.
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

const mayBeProcessed = ({ attempts }: Exchange): boolean =>
  attempts.failed?.some(({ errorOrStatus: end }) => typeof end === 'number' || !sentNothing(end)) === true

const sentNothing = ({ kind }: GatewayError): boolean => failureTable[kind].retry === 'always'

/** This gateway's own field; the draft has none. */
const replayedField = 'Idempotency-Replayed'

// For the first client only, or possibly expired.
const unkeptFields: ReadonlySet<string> = new Set(['set-cookie', 'set-cookie2', ...perExchangeFields])

/** The head's length in four bytes, the head as JSON, the body. May be shared memory, so stores must copy it. */
export const encodeKeptResponse = ({ status, reason, fields }: Omit<ProxyResponse, 'body'>, body: Buffer): Buffer => {
  const head = JSON.stringify([status, reason, omitFields(fields, unkeptFields)])
  const headLength = Buffer.byteLength(head)
  const encoded = Buffer.allocUnsafe(4 + headLength + body.length)
  encoded.writeUInt32BE(headLength)
  encoded.write(head, 4)
  body.copy(encoded, 4 + headLength)
  return encoded
}

export const decodeKeptResponse = (encoded: Buffer): ProxyResponse => {
  const bodyAt = 4 + encoded.readUInt32BE(0)
  const [status, reason, fields] = JSON.parse(encoded.toString('utf8', 4, bodyAt)) as [number, string, HeaderFields]
  const body = new BytesBody(encoded.subarray(bodyAt))
  return { status, reason, fields: [...fields, replayedField, 'true'], body }
}
