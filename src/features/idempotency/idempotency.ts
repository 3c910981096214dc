import { createHash, hash, randomUUID } from 'node:crypto'
import { bufferRequestBody, WholeBody } from '../../core/exchange/bodies/buffered-bodies.ts'
import { addDataListener, type RequestBody } from '../../core/exchange/body.ts'
import {
  type Exchange,
  type Handler,
  type Layer,
  type ProxyResponse,
  sleepUnlessAborted,
} from '../../core/exchange/exchange.ts'
import { GatewayError, StacklessError } from '../../core/exchange/failures/errors.ts'
import { clientShare } from '../../core/exchange/request-owner.ts'
import { now, settlesWithin } from '../../core/lib/clock.ts'
import type { FairQuota, QuotaShare } from '../../core/lib/fair-quota.ts'
import {
  type AbandonedAttempts,
  claimLeaseMs,
  decodeKeptResponse,
  forwardAndSettle,
  forwardDetachable,
  holdClaim,
  toRecord,
} from './claimed-attempt.ts'
import type { OperationIdempotencyConfig } from './config.ts'
import { findKeyOwner, parseIdempotencyKey, toKeyDigest, toShareDigest } from './idempotency-key.ts'
import type { Claim, ClaimResult, IdempotencyOutcome, IdempotencyStore } from './store/idempotency-store.ts'

export interface IdempotencyDeps {
  readonly store: IdempotencyStore
  /** Slow uploads leave room for responses. */
  readonly rooms: { readonly requests: FairQuota; readonly responses: FairQuota }
  readonly abandoned: AbandonedAttempts
  readonly credentialFields: readonly string[]
  readonly maxKeysPerClient: number
  /** Null: the deadline is longer than the store's timeout. */
  readonly maxClaimMs: number | null
}

// Between two claims of a waiting repetition.
const pollMs = 50

/** draft-ietf-httpapi-idempotency-key-header-07. A repetition gets the stored response, or an error with the reason. */
export const idempotencyLayer = (rules: OperationIdempotencyConfig, deps: IdempotencyDeps): Layer => {
  const { header, maxKey, required } = rules

  const serve = async (exchange: Exchange, key: string, next: Handler): Promise<ProxyResponse> => {
    const body = await digestRequest(exchange, key, rules.maxBody, clientShare(deps.rooms.requests, exchange))
    const owner = findKeyOwner(exchange.identity, exchange.fields, exchange.client, deps.credentialFields)
    const claim: Claim = {
      ...toKeyDigest(owner, exchange.operation.id, key),
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
        settleClaim: holdClaim(deps.store, claim),
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
      if (rules.onStoreFailure === 'reject') {
        // When the store is full, an earlier failure is not the cause.
        const failure = result === null ? deps.store.failure : null
        const cause = failure == null ? {} : { cause: new StacklessError(failure) }
        const error = new GatewayError('idempotency-unavailable', { fields: ['Retry-After', '1'], ...cause })
        throw reject(exchange, body, 'rejected', null, error)
      }
      exchange.outcome = toRecord('unprotected')
      return stopOnFailure(body, next(exchange))
    }
    if (result.state === 'full') {
      const error = new GatewayError('rate-limited', { reason: 'client-keys', fields: ['Retry-After', '60'] })
      throw reject(exchange, body, 'rejected', null, error)
    }
    return repeat(exchange, body, result)
  }

  /** Waits up to `wait` for another request with the key. */
  const claimInTime = async (exchange: Exchange, claim: Claim): Promise<ClaimResult | null> => {
    const until = now() + rules.wait
    for (;;) {
      const askedAt = now()
      const reply = await replyWithin(deps.maxClaimMs, deps.store.call({ type: 'claim', claim }))
      // While this process stalled, another attempt may have got the lease.
      const result = now() - askedAt < claimLeaseMs ? reply : null
      // A claim without a timely reply may have succeeded.
      if (result === null) void deps.store.call({ type: 'settle', claim, settlement: { state: 'free' } })
      if (exchange.aborted !== null) {
        if (result?.state === 'claimed') void holdClaim(deps.store, claim)({ state: 'free' })
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
    // Node drops a malformed key: without a key, a repetition would be processed again.
    if (exchange.mayLackFields)
      return Promise.reject(new GatewayError('idempotency-key-missing', { cause: leftOutKey }))
    return next(exchange)
  }
}

const leftOutKey = 'with codec: node, each request over HTTP/2 needs a key, because a malformed key is dropped'

// A random UUID for each attempt would allocate 1 kB.
const processToken = randomUUID()
let attempts = 0

const createToken = (): string => `${processToken}-${++attempts}`

type EarlierRequest = Extract<ClaimResult, { readonly requestId: string }>

const repeat = async (exchange: Exchange, body: DigestedBody, first: EarlierRequest): Promise<ProxyResponse> => {
  // A long body is only read if its digest decides a replay.
  if (body.whole === null && first.state === 'done') await drainRequestBody(exchange)
  const own = body.digest()
  const fail = (outcome: IdempotencyOutcome, error: GatewayError): GatewayError =>
    reject(exchange, body, outcome, first.requestId, error)
  if (own !== null && first.fingerprint !== null && own !== first.fingerprint)
    throw fail('reused', new GatewayError('idempotency-key-reused'))
  if (first.state === 'in-progress')
    throw fail('in-progress', new GatewayError('request-in-progress', { fields: ['Retry-After', '1'] }))
  if (first.state === 'unknown') throw fail('outcome-unknown', new GatewayError('outcome-unknown'))
  if (first.response === null || own === null || first.fingerprint === null)
    throw fail('unkept', new GatewayError('response-not-kept'))
  exchange.outcome = toRecord('replayed', first.requestId)
  return decodeKeptResponse(first.response)
}

const reject = (
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

/** Null: no reply within `ms`. */
const replyWithin = async <T>(ms: number | null, call: Promise<T>): Promise<T | null> =>
  ms === null || (await settlesWithin(ms, call)) ? call : null

interface DigestedBody {
  /** Null: too long, so it streams. */
  readonly whole: Buffer | null
  digest(): string | null
  stop(): void
}

/** A longer body is digested while it streams. The key is in the SHA-256, so that attackers cannot guess bodies. */
const digestRequest = async (
  exchange: Exchange,
  key: string,
  maxBytes: number,
  room: QuotaShare,
): Promise<DigestedBody> => {
  const { body, query } = exchange
  // JSON marks its own end, so no separator is needed.
  const prefix = JSON.stringify([key, query])
  if (body.length === 0) return digestWhole(prefix, noBytes)
  const digest = body.replayable ? () => null : digestWhileRead(prefix, body)
  if (body.length !== null && body.length > maxBytes && !body.replayable) return { whole: null, digest, stop: () => {} }
  const { whole, stop } = await bufferRequestBody(exchange, maxBytes, room)
  if (whole === null) return { whole, digest, stop }
  exchange.body = new WholeBody(whole) // the attempt may outlive the client and its body
  return digestWhole(prefix, whole)
}

/** For the digest; the body is not forwarded. */
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

// Copying a longer body costs more than hashing it separately.
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
