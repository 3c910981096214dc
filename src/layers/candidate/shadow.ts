import type { Handler, Layer } from '../../exchange.ts'
import type { OnShadowPair } from '../../observe/candidate/shadow-pair.ts'
import type { ShadowCopies } from './shadow-copies.ts'
import { ShadowCopy } from './shadow-copy.ts'
import { createMarkerRemover, createShadowFields, type ShadowFieldsOptions } from './shadow-fields.ts'

/** What the layer is made from. */
export interface ShadowOptions extends ShadowFieldsOptions {
  /** The share of requests that is copied, from 0 to 1. */
  readonly sample: number
  /** The longest that a copy may take, to the end of its answer. */
  readonly timeoutMs: number
  /** A request with a longer body is not copied. Of a longer answer there is the hash alone. */
  readonly maxBody: number
  /** The field that carries the request id, in lower case; null: there is none. */
  readonly requestIdField: string | null
  /** Sends to the candidate, on connections that carry nothing but copies. */
  readonly send: Handler
  readonly copies: ShadowCopies
  readonly onPair: OnShadowPair
}

/**
 * Sends the candidate a copy of some of what the primary gets, when the primary's request is on its way. Nothing that a
 * client gets waits for the copy, or depends on it. The layer stands above retries, which so never make a second copy,
 * and which end in the answer that is compared.
 */
export const shadowLayer = (options: ShadowOptions): Layer => {
  const removeMarker = createMarkerRemover(options.marker)
  const toCopyFields = createShadowFields(options)
  return (next) => (exchange) => {
    exchange.fields = removeMarker(exchange.fields)
    // The candidate gets the requests of its own clients, and not what it has failed.
    if (exchange.side === 'candidate' || Math.random() >= options.sample) return next(exchange)
    const copy = new ShadowCopy(exchange, toCopyFields, options)
    return next(exchange).then(
      (response) => copy.onResponse(response),
      (error) => {
        copy.onFailure(error)
        throw error
      },
    )
  }
}
