import type { Handler, Layer } from '../../../core/exchange/exchange.ts'
import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import type { OperationId } from '../../../operations.ts'
import type { ShadowCounts } from '../observe/shadow-counts.ts'
import type { OnShadowPair } from '../observe/shadow-pair.ts'
import type { ShadowCopies } from './shadow-copies.ts'
import { ShadowCopy } from './shadow-copy.ts'
import { createMarkerRemover, createShadowFields, type ShadowFieldsOptions } from './shadow-fields.ts'

/** The requests that go to the primary twice, in place of a copy, so that its noise is learnt. */
interface ShadowRepeats {
  /** Decides whether the next request of an operation is to be one. */
  wants(operation: OperationId): boolean
  readonly onSend: (operation: OperationId) => void
  /** Sends to the primary, on connections that carry nothing but these. */
  readonly send: Handler
  /** Returns whether an endpoint of the primary is up that takes work. */
  isUp(): boolean
  /** How long after the first the second request goes out: what depends on the time is to differ. */
  readonly afterMs: number
  readonly onPair: OnShadowPair
}

export interface CopyDestination {
  readonly send: Handler
  /** Returns whether an endpoint is up that takes work. */
  isUp(): boolean
  readonly toFields: (fields: HeaderFields) => HeaderFields
  readonly forwardsCredentials: boolean
  readonly counts: ShadowCounts
  /** Called when a copy goes out; null: nothing is. */
  readonly onSend: ((operation: OperationId) => void) | null
  /** Null: answers are counted, and not compared. */
  readonly onPair: OnShadowPair | null
  /** How long a repeated request waits. Null: it goes to the candidate, at once. */
  readonly afterMs: number | null
}

export interface ShadowDestination {
  /** Sends to the candidate, on connections that carry nothing but copies. */
  readonly send: Handler
  /** Returns whether an endpoint of the candidate is up that takes work. */
  isUp(): boolean
  readonly copies: ShadowCopies
  /** Null: answers are counted, and not compared. */
  readonly onPair: OnShadowPair | null
  /** Null: no request goes to the primary twice. */
  readonly repeats: ShadowRepeats | null
}

export interface ShadowOptions extends ShadowFieldsOptions, ShadowDestination {
  /** The share of requests that is copied, from 0 to 1. */
  readonly sample: number
  /** The longest that a copy may take, to the end of its answer. */
  readonly timeoutMs: number
  /** A request with a longer body is not copied. Of a longer answer there is the hash alone. */
  readonly maxBody: number
  /** The field that carries the request id, in lower case; null: there is none. */
  readonly requestIdField: string | null
}

/** Removes the marker from requests: a candidate may take it as a dry run, so a client must not send it. */
export const markerLayer = (marker: string): Layer => {
  const removeMarker = createMarkerRemover(marker)
  return (next) => (exchange) => {
    exchange.fields = removeMarker(exchange.fields)
    return next(exchange)
  }
}

/**
 * Sends the candidate a copy of some of what the primary gets, when the primary's request is on its way. Nothing that a
 * client gets waits for the copy, or depends on it. The layer stands above retries, which so never make a second copy,
 * and which end in the answer that is compared.
 */
export const shadowLayer = (options: ShadowOptions): Layer => {
  const { copies, forwardsCredentials, repeats, send, isUp, onPair } = options
  const toFields = createShadowFields(options)
  const toCandidate: CopyDestination = {
    send,
    isUp,
    toFields,
    forwardsCredentials,
    counts: copies.counts,
    onSend: null,
    onPair,
    afterMs: null,
  }
  const toPrimary: CopyDestination | null = repeats && {
    ...repeats,
    // The primary has got them already.
    forwardsCredentials: true,
    toFields: createShadowFields({ ...options, forwardsCredentials: true }),
    counts: copies.repeats,
  }
  return (next) => (exchange) => {
    // The candidate gets the requests of its own clients, and not what it has failed.
    if (exchange.side === 'candidate' || Math.random() >= options.sample) return next(exchange)
    const isRepeat = repeats?.wants(exchange.operation.id) ?? false
    const copy = new ShadowCopy(exchange, (isRepeat ? toPrimary : null) ?? toCandidate, options)
    return next(exchange).then(
      (response) => copy.onResponse(response),
      (error) => {
        copy.onFailure(error)
        throw error
      },
    )
  }
}
