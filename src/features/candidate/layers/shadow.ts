import type { UpstreamConfig } from '../../../core/config/config.ts'
import type { Handler, Layer } from '../../../core/exchange/exchange.ts'
import { foldUnderscores, type HeaderFields, namesCredential } from '../../../core/exchange/header-fields.ts'
import { formatPercent } from '../../../core/lib/text/units.ts'
import type { Upstream } from '../../../core/upstream/upstream.ts'
import type { OperationId, Side } from '../../../operations.ts'
import type { CandidateConfig, CandidateShadowConfig } from '../config/candidate.ts'
import type { ComparisonCounts } from '../observe/comparison-counts.ts'
import { maxRepeats } from './shadow-copies.ts'
import { type CopyDestination, type CopyOptions, type CopySender, ShadowCopy } from './shadow-copy.ts'

/** In place of a copy, to learn the primary's noise. */
interface ShadowRepeats extends CopySender, Pick<CopyDestination, 'onSend' | 'afterMs'> {
  wants(operation: OperationId): boolean
}

interface ShadowDestination extends CopySender, Pick<CopyOptions, 'copies'> {
  readonly repeats: ShadowRepeats | null
}

export interface ShadowOptions
  extends ShadowFieldsOptions,
    ShadowDestination,
    CopyOptions,
    Pick<CandidateShadowConfig, 'sample'> {}

/** Clients must not send the marker: a candidate may treat it as a dry run. */
export const markerLayer = (marker: string): Layer => {
  const removeMarker = createMarkerRemover(marker)
  return (next) => (exchange) => {
    exchange.fields = removeMarker(exchange.fields)
    return next(exchange)
  }
}

/** No client waits for a copy. Above retries: a retry makes no second copy, and the final response is compared. */
export const shadowLayer = (options: ShadowOptions): Layer => {
  const { copies, repeats } = options
  const toFields = createShadowFields(options)
  const toCandidate: CopyDestination = { ...options, toFields, counts: copies.counts, onSend: null, afterMs: null }
  const toPrimary: CopyDestination | null = repeats && {
    ...repeats,
    // The primary has the credentials already.
    credentials: 'forward',
    toFields: createShadowFields({ ...options, credentials: 'forward' }),
    counts: copies.repeats,
  }
  return (next) => (exchange) => {
    // The candidate must not get its own clients' requests again.
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

interface ShadowFieldsOptions extends Pick<CandidateShadowConfig, 'marker' | 'credentials'> {
  readonly credentialFields: readonly string[]
  /** Idempotency keys: no credentials, whatever their names say. */
  readonly keptFields: readonly string[]
}

/**
 * Names are compared as CGI-like back ends read them, where `_` is `-`. Fields that the gateway sets for the candidate
 * are added later.
 */
export const createShadowFields = ({
  marker,
  credentials,
  credentialFields,
  keptFields,
}: ShadowFieldsOptions): ((fields: HeaderFields) => HeaderFields) => {
  const areForwarded = credentials === 'forward'
  const removed = new Set([...(areForwarded ? [] : credentialFields), marker].map(foldUnderscores))
  const kept = new Set(keptFields.map(foldUnderscores))
  return (fields) => {
    const copied: string[] = []
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      const folded = foldUnderscores(name)
      if (removed.has(folded)) continue
      if (!areForwarded && namesCredential(name) && !kept.has(folded)) continue
      copied.push(name, fields[i + 1] as string)
    }
    copied.push(marker, '1')
    return copied
  }
}

export const createMarkerRemover = (marker: string): ((fields: HeaderFields) => HeaderFields) => {
  const folded = foldUnderscores(marker)
  const isMarker = (name: string): boolean => name.length === folded.length && foldUnderscores(name) === folded
  return (fields) => {
    for (let i = 0; i < fields.length; i += 2)
      if (isMarker(fields[i] as string)) return fields.filter((_, at) => !isMarker(fields[at - (at % 2)] as string))
    return fields
  }
}

export const formatShadow = ({ sample, compare }: CandidateShadowConfig): string =>
  `sample: ${formatPercent(sample)}, ${compare === null ? 'not compared' : 'compared'}`

// So that times in whole seconds differ too.
const repeatAfterMs = 1_100

export interface ShadowResources extends Pick<CopyOptions, 'copies'> {
  readonly sides: Readonly<Record<Side, Upstream>>
  readonly primary: UpstreamConfig
  open(use: 'shadow' | 'repeat', config: UpstreamConfig): Upstream
  readonly comparison: ComparisonCounts | null
}

/**
 * Separate connections: no client waits behind a copy or a repeat. A failed copy opens no breaker and ejects no
 * endpoint; the side's probes and operators' drains hold for copies too.
 */
export const openShadow = ({ upstream, shadow }: CandidateConfig, resources: ShadowResources) => {
  const { sides, primary, open, copies, comparison } = resources
  if (shadow === null || shadow.sample === 0) return null
  const openBeside = (use: 'shadow' | 'repeat', config: UpstreamConfig, running: Upstream, maxConnections: number) => {
    const own = { ...config, maxConnections, maxPending: 0, outlier: null, circuitBreaker: null }
    const isUp = (): boolean => running.members.some(({ takesRequests, health }) => takesRequests && !health.isDown)
    return { send: followOutages(open(use, own), running), isUp }
  }
  const sender = openBeside('shadow', upstream, sides.candidate, shadow.concurrency)
  const copying = { ...sender, copies, onPair: comparison?.onPair ?? null }
  if (comparison === null || shadow.compare?.noise !== true) return { ...copying, repeats: null }
  const repeats = {
    wants: (operation: OperationId) => copies.repeating() < maxRepeats && comparison.wantsRepeat(operation),
    onSend: comparison.onRepeat,
    afterMs: repeatAfterMs,
    ...openBeside('repeat', primary, sides.primary, Math.min(shadow.concurrency, maxRepeats)),
    onPair: comparison.onRepeatedPair,
  }
  return { ...copying, repeats }
}

/** The side's own probes say which endpoints are down: copies send no probes. */
const followOutages = ({ members, send }: Upstream, running: Upstream): Handler =>
  members.length === 1
    ? send
    : (exchange) => {
        for (const [index, { endpoint }] of members.entries())
          endpoint.applyOutage(running.members[index]?.health.down ?? null)
        return send(exchange)
      }
