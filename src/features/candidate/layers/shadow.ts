import type { Handler, Layer } from '../../../core/exchange/exchange.ts'
import { foldUnderscores, type HeaderFields, namesCredential } from '../../../core/exchange/header-fields.ts'
import type { OperationId } from '../../../operations.ts'
import type { OnShadowPair } from '../observe/shadow-pair.ts'
import type { CopyDestination, CopyOptions, ShadowCopies } from './shadow-copies.ts'
import { ShadowCopy } from './shadow-copy.ts'

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

export interface ShadowOptions extends ShadowFieldsOptions, ShadowDestination, CopyOptions {
  /** The share of requests that is copied, from 0 to 1. */
  readonly sample: number
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

interface ShadowFieldsOptions {
  /** The field that says that a request is a copy. */
  readonly marker: string
  readonly forwardsCredentials: boolean
  /** Names, in any case, of the fields that hold credentials of clients as configured. */
  readonly credentialFields: readonly string[]
  /** Names, in any case, of fields that hold none, whatever they are called: keys of idempotency. */
  readonly keptFields: readonly string[]
}

/**
 * Creates the function that turns the fields of a request into those of its copy: without the credentials of the
 * client, unless they are forwarded, and marked. Fields that the gateway itself sets for the candidate come later.
 * Names are compared as a CGI-like back end reads them.
 */
export const createShadowFields = ({
  marker,
  forwardsCredentials,
  credentialFields,
  keptFields,
}: ShadowFieldsOptions): ((fields: HeaderFields) => HeaderFields) => {
  const removed = new Set((forwardsCredentials ? [] : credentialFields).map(foldUnderscores))
  removed.add(foldUnderscores(marker))
  const kept = new Set(keptFields.map(foldUnderscores))
  return (fields) => {
    const copied: string[] = []
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      const folded = foldUnderscores(name)
      if (removed.has(folded)) continue
      if (!forwardsCredentials && namesCredential(name) && !kept.has(folded)) continue
      copied.push(name, fields[i + 1] as string)
    }
    copied.push(marker, '1')
    return copied
  }
}

/**
 * Creates the function that removes the marker from the fields of a client's request: what comes marked is a copy, and
 * a client must not make one. The same list comes back where there is none.
 */
export const createMarkerRemover = (marker: string): ((fields: HeaderFields) => HeaderFields) => {
  const folded = foldUnderscores(marker)
  const isMarker = (name: string): boolean => name.length === folded.length && foldUnderscores(name) === folded
  return (fields) => {
    for (let i = 0; i < fields.length; i += 2)
      if (isMarker(fields[i] as string)) return fields.filter((_, at) => !isMarker(fields[at - (at % 2)] as string))
    return fields
  }
}
