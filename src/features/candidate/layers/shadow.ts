import type { Config, UpstreamConfig } from '../../../core/config/config.ts'
import type { Handler, Layer } from '../../../core/exchange/exchange.ts'
import { foldUnderscores, type HeaderFields, namesCredential } from '../../../core/exchange/header-fields.ts'
import { formatPercent } from '../../../core/lib/text/units.ts'
import type { Upstream } from '../../../core/upstream/upstream.ts'
import type { Operation, OperationId, Side } from '../../../operations.ts'
import { DeferredWork } from '../../contract/check-queue.ts'
import type { CandidateConfig, CandidateShadowConfig } from '../config/candidate.ts'
import type { ComparisonCounts } from '../observe/comparison-counts.ts'
import { type CopyDestination, type CopyOptions, type CopySender, maxRepeats, ShadowCopies } from './shadow-copies.ts'
import { ShadowCopy } from './shadow-copy.ts'

/** The requests that go to the primary twice, in place of a copy, so that its noise is learnt. */
interface ShadowRepeats extends CopySender, Pick<CopyDestination, 'onSend' | 'afterMs'> {
  /** Decides whether the next request of an operation is to be one. */
  wants(operation: OperationId): boolean
}

/** What copies go to the candidate with. */
export interface ShadowDestination extends CopySender {
  readonly copies: ShadowCopies
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
  const { copies, repeats } = options
  const toCandidate: CopyDestination = {
    ...options,
    toFields: createShadowFields(options),
    counts: copies.counts,
    onSend: null,
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

/** A destination that gets nothing, where no traffic is served. */
export const nullShadow: ShadowDestination = {
  send: () => Promise.reject(new TypeError('no traffic is served')),
  isUp: () => false,
  copies: new ShadowCopies(new DeferredWork(() => {}), new DeferredWork(() => {})),
  onPair: null,
  repeats: null,
}

/**
 * Returns the rules by which requests of an operation are copied. A POST is only where the file says that it does no
 * harm. Null: none are.
 */
export const copiesOf = (
  { method }: Pick<Operation, 'method'>,
  rules: CandidateShadowConfig,
): CandidateShadowConfig | null => {
  const { sample, posts, sideEffects } = rules
  return sample > 0 && (method === 'GET' || (posts && sideEffects === 'none')) ? rules : null
}

export const formatShadow = ({ sample, compare }: CandidateShadowConfig): string =>
  `sample: ${formatPercent(sample)}, ${compare === null ? 'not compared' : 'compared'}`

export const createShadowLayer = (
  config: Config,
  { sample, timeout, maxBody, marker, credentials }: CandidateShadowConfig,
  destination: ShadowDestination | null,
  credentialFields: readonly string[],
): Layer | null =>
  destination &&
  shadowLayer({
    ...destination,
    sample,
    marker,
    maxBody,
    timeoutMs: timeout,
    forwardsCredentials: credentials === 'forward',
    credentialFields,
    keptFields: Object.values(config.operations).flatMap(({ idempotency }) => idempotency?.header ?? []),
    requestIdField: config.requestId.header?.toLowerCase() ?? null,
  })

// A time in whole seconds is another one then.
const repeatAfterMs = 1_100

export interface ShadowResources {
  readonly sides: Readonly<Record<Side, Upstream>>
  readonly primary: UpstreamConfig
  open(use: 'shadow' | 'repeat', config: UpstreamConfig): Upstream
  readonly copies: ShadowCopies
  /** Null: answers are not compared. */
  readonly comparison: ComparisonCounts | null
}

/**
 * Opens the destination of copies: the candidate's endpoints once more, on connections of their own, so that no client
 * on the candidate waits behind a copy. What copies come to opens no breaker and ejects no endpoint. What the probes of
 * the candidate find and what operators drain holds for copies too. The same is true of the primary's endpoints, where
 * noise is learnt. Null: the candidate gets none.
 */
export const openShadow = (
  { upstream, shadow }: CandidateConfig,
  { sides, primary, open, copies, comparison }: ShadowResources,
): ShadowDestination | null => {
  if (shadow === null || shadow.sample === 0) return null
  const openBeside = (use: 'shadow' | 'repeat', config: UpstreamConfig, running: Upstream, max: number) => ({
    send: followOutages(
      open(use, { ...config, maxConnections: max, maxPending: 0, outlier: null, circuitBreaker: null }),
      running,
    ),
    isUp: () => running.members.some(({ takesRequests, health }) => takesRequests && !health.isDown),
  })
  return {
    ...openBeside('shadow', upstream, sides.candidate, shadow.concurrency),
    copies,
    onPair: comparison?.onPair ?? null,
    repeats:
      comparison !== null && shadow.compare?.noise === true
        ? {
            wants: (operation) => copies.repeating < maxRepeats && comparison.wantsRepeat(operation),
            onSend: comparison.onRepeat,
            afterMs: repeatAfterMs,
            ...openBeside('repeat', primary, sides.primary, Math.min(shadow.concurrency, maxRepeats)),
            onPair: comparison.onRepeatedPair,
          }
        : null,
  }
}

/** Sends around the endpoints that probes have found down on the side itself. */
const followOutages = ({ members, send }: Upstream, running: Upstream): Handler =>
  members.length === 1
    ? send
    : (exchange) => {
        for (const [index, { endpoint }] of members.entries())
          endpoint.applyOutage(running.members[index]?.health.down ?? null)
        return send(exchange)
      }
