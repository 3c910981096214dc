import { createHash, hash, randomUUID } from 'node:crypto'
import { bufferRequestBody, WholeBody } from '../../core/exchange/bodies/buffered-bodies.ts'
import { addDataListener, type RequestBody } from '../../core/exchange/body.ts'
import type { Exchange, Handler, Layer, ProxyResponse } from '../../core/exchange/exchange.ts'
import type { IdempotencyOutcome } from '../../core/exchange/exchange-outcomes.ts'
import { GatewayError, StacklessError } from '../../core/exchange/failures/errors.ts'
import { clientShare } from '../../core/exchange/request-owner.ts'
import { sleepUnlessAborted } from '../../core/exchange/sleep-unless-aborted.ts'
import { now, settlesWithin } from '../../core/lib/clock.ts'
import type { FairQuota, QuotaShare } from '../../core/lib/fair-quota.ts'
import type { OperationIdempotencyConfig } from './config.ts'
import {
  type AbandonedAttempts,
  claimLeaseMs,
  decodeKeptResponse,
  forwardAndSettle,
  forwardDetachable,
  HeldClaim,
  toRecord,
} from './forward-once.ts'
import { findKeyOwner, parseIdempotencyKey, toKeyDigest, toShareDigest } from './idempotency-key.ts'
import type { Claim, ClaimResult, IdempotencyStore } from './store/idempotency-store.ts'

export interface IdempotencyDeps {
  readonly store: IdempotencyStore
  /** The room for bodies of requests, and for those of responses: slow uploads leave responses theirs. */
  readonly rooms: { readonly requests: FairQuota; readonly responses: FairQuota }
  readonly abandoned: AbandonedAttempts
  /** The fields, in lower case, that tell clients apart when the gateway authenticates none. */
  readonly credentialFields: readonly string[]
  readonly maxKeysPerClient: number
  /** The longest wait for the store's reply to a claim, where the deadline is shorter than the store's own timeout. */
  readonly maxClaimMs: number | null
}

// The pause before a repetition that waits asks again whether the first has ended.
const pollMs = 50

/**
 * Sees to it that a request with a key is processed once. The first is forwarded, and its outcome remembered. A
 * repetition gets the same response, or is told why there is none; the upstream is not asked.
 * draft-ietf-httpapi-idempotency-key-header-07.
 */
export const idempotencyLayer = (rules: OperationIdempotencyConfig, deps: IdempotencyDeps): Layer => {
  const { header, maxKey, required } = rules

  const serve = async (exchange: Exchange, key: string, next: Handler): Promise<ProxyResponse> => {
    const body = await digestRequest(exchange, key, rules.maxBody, clientShare(deps.rooms.requests, exchange))
    const owner = findKeyOwner(exchange.identity, exchange.fields, exchange.client, deps.credentialFields)
    const { client, name } = toKeyDigest(owner, exchange.operation.id, key)
    const claim: Claim = {
      client,
      name,
      share: toShareDigest(exchange),
      token: createToken(),
      fingerprint: body.digest(),
      requestId: exchange.requestId,
      ttlMs: rules.ttl,
      leaseMs: claimLeaseMs,
      takesOver: rules.onUnknown === 'forward',
      maxKeys: deps.maxKeysPerClient,
    }
    const result = await claimInTime(exchange, claim)
    if (result?.state === 'claimed') {
      const options = {
        claim: new HeldClaim(deps.store, claim),
        maxResponse: rules.maxResponse,
        room: clientShare(deps.rooms.responses, exchange),
        abandoned: deps.abandoned,
        fingerprint: body.digest,
      }
      return body.whole === null
        ? stopOnFailure(body, forwardAndSettle(exchange, exchange, next, options))
        : forwardDetachable(exchange, next, options)
    }
    if (result === null || (result.state === 'full' && result.of === 'store')) {
      if (rules.onStoreFailure === 'refuse') {
        // Of a store that is full, what failed earlier is no cause.
        const cause = result === null ? deps.store.failure : null
        throw refuse(exchange, body, 'refused', null, unavailableError(cause))
      }
      exchange.outcome = toRecord('unprotected')
      return stopOnFailure(body, next(exchange))
    }
    if (result.state === 'full') throw refuse(exchange, body, 'refused', null, tooManyKeysError())
    return repeat(exchange, body, result)
  }

  /** Claims the key, and waits as long as the operation allows for another request with it. */
  const claimInTime = async (exchange: Exchange, claim: Claim): Promise<ClaimResult | null> => {
    const until = now() + rules.wait
    for (;;) {
      const askedAt = now()
      const reply = await replyWithin(deps.maxClaimMs, deps.store.call({ type: 'claim', claim }))
      // A process that stood still for so long may have lost its claim, and another attempt may have been made since.
      const result = now() - askedAt < claimLeaseMs ? reply : null
      // What was not heard of in time may have been claimed all the same.
      if (result === null) void deps.store.call({ type: 'settle', claim, settlement: { state: 'free' } })
      if (exchange.aborted !== null) {
        if (result?.state === 'claimed') void new HeldClaim(deps.store, claim).settle({ state: 'free' })
        throw exchange.aborted
      }
      if (result?.state !== 'in-progress' || now() >= until) return result
      await sleepUnlessAborted(exchange, pollMs)
    }
  }

  return (next) => (exchange) => {
    try {
      const key = parseIdempotencyKey(exchange.fields, header, maxKey)
      if (key !== null) return serve(exchange, key, next)
    } catch (error) {
      return Promise.reject(error)
    }
    if (required) return Promise.reject(new GatewayError('idempotency-key-missing'))
    // A malformed key: its repetition would come without one too, and be processed again.
    if (exchange.mayLackFields)
      return Promise.reject(new GatewayError('idempotency-key-missing', { cause: leftOutKey }))
    return next(exchange)
  }
}

const leftOutKey = 'over HTTP/2 each request needs a key: Node leaves out a malformed one'

// To make up each at random allocates a kilobyte.
const processToken = randomUUID()
let attempts = 0

const createToken = (): string => `${processToken}-${++attempts}`

/** A result of a claim that says that the key came before. */
type EarlierRequest = Extract<ClaimResult, { readonly requestId: string }>

const repeat = async (exchange: Exchange, body: DigestedBody, first: EarlierRequest): Promise<ProxyResponse> => {
  // Only where the response would be replayed is a long body worth its reading.
  if (body.whole === null && first.state === 'done') await drainRequestBody(exchange)
  const own = body.digest()
  const { requestId } = first
  if (own !== null && first.fingerprint !== null && own !== first.fingerprint)
    throw refuse(exchange, body, 'reused', requestId, new GatewayError('idempotency-key-reused'))
  switch (first.state) {
    case 'in-progress':
      throw refuse(exchange, body, 'in-progress', requestId, inProgressError())
    case 'unknown':
      throw refuse(exchange, body, 'outcome-unknown', requestId, new GatewayError('outcome-unknown'))
    case 'done':
      if (first.response === null || own === null || first.fingerprint === null)
        throw refuse(exchange, body, 'unkept', requestId, new GatewayError('response-not-kept'))
      exchange.outcome = toRecord('replayed', requestId)
      return decodeKeptResponse(first.response)
  }
}

/** Notes why a request is not forwarded, and gives up its body. */
const refuse = (
  exchange: Exchange,
  body: DigestedBody,
  outcome: IdempotencyOutcome,
  firstRequestId: string | null,
  error: GatewayError,
): GatewayError => {
  exchange.outcome = toRecord(outcome, firstRequestId)
  body.stop()
  return error
}

const stopOnFailure = async (body: DigestedBody, sent: Promise<ProxyResponse>): Promise<ProxyResponse> => {
  try {
    return await sent
  } catch (error) {
    body.stop()
    throw error
  }
}

const unavailableError = (cause: string | null | undefined): GatewayError =>
  new GatewayError('idempotency-unavailable', {
    fields: ['Retry-After', '1'],
    ...(cause != null && { cause: new StacklessError(cause) }),
  })

const inProgressError = (): GatewayError => new GatewayError('request-in-progress', { fields: ['Retry-After', '1'] })

const tooManyKeysError = (): GatewayError =>
  new GatewayError('rate-limited', { reason: 'client-keys', fields: ['Retry-After', '60'] })

/** Null: it has not come in time. */
const replyWithin = async <T>(ms: number | null, call: Promise<T>): Promise<T | null> =>
  ms === null || (await settlesWithin(ms, call)) ? call : null

interface DigestedBody {
  /** All of it; null: it is longer than the bound, and streams. */
  readonly whole: Buffer | null
  digest(): string | null
  /** Gives up what has not been sent, when no attempt will send it. */
  stop(): void
}

/**
 * Reads the body of an exchange's request, up to `maxBytes`; a longer one is digested while it streams. The digest is
 * the SHA-256 of the key, the query and the body: without the key, what was sent cannot be tried out. Rejects as
 * {@link bufferRequestBody} does.
 */
const digestRequest = async (
  exchange: Exchange,
  key: string,
  maxBytes: number,
  room: QuotaShare,
): Promise<DigestedBody> => {
  const { body, query } = exchange
  // Where it ends, and the body begins, JSON says itself.
  const prefix = JSON.stringify([key, query])
  if (body.length === 0) return digestWhole(prefix, noBytes)
  const digest = body.replayable ? () => null : digestWhileRead(prefix, body)
  if (body.length !== null && body.length > maxBytes && !body.replayable) return { whole: null, digest, stop: () => {} }
  const { whole, stop } = await bufferRequestBody(exchange, maxBytes, room)
  if (whole === null) return { whole, digest, stop }
  exchange.body = new WholeBody(whole) // what may outlive the client is no longer the client's
  return digestWhole(prefix, whole)
}

/** Reads the rest of a body that will not be forwarded, for its digest. */
const drainRequestBody = async (exchange: Exchange): Promise<void> => {
  const upload = exchange.body.stream((waits) => {
    exchange.waitsForClient = waits
  })
  for await (const _ of upload);
}

const digestWhole = (prefix: string, whole: Buffer): DigestedBody => {
  const digest = digestJoined(prefix, whole)
  return { whole, digest: () => digest, stop: () => {} }
}

// To copy what is longer costs more than to hash it in two steps.
const maxJoined = 16 * 1024

const digestJoined = (prefix: string, whole: Buffer): string => {
  if (whole.length > maxJoined) return createHash('sha256').update(prefix).update(whole).digest('base64url')
  const length = Buffer.byteLength(prefix)
  const joined = Buffer.allocUnsafe(length + whole.length)
  joined.write(prefix)
  whole.copy(joined, length)
  return hash('sha256', joined, 'base64url')
}

const digestWhileRead = (prefix: string, body: RequestBody): (() => string | null) => {
  const hashing = createHash('sha256').update(prefix)
  let digest: string | null = null
  addDataListener(body, (chunk) => {
    if (chunk === null) digest = hashing.digest('base64url')
    else hashing.update(chunk)
  })
  return () => digest
}

const noBytes = Buffer.alloc(0)
