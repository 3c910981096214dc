import { randomUUID } from 'node:crypto'
import type { Config, ListenConfig } from '../../core/config/config.ts'
import { askFacts } from '../../core/config/config-facts.ts'
import type { Exchange, Layer } from '../../core/exchange/exchange.ts'
import { now } from '../../core/lib/clock.ts'
import { RefCountedMap } from '../../core/lib/memo.ts'
import { formatPercent, roundToTenths } from '../../core/lib/text/units.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { ProcessPart, RuntimePart, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import type { TracingConfig } from './config.ts'
import { emptySpanCounts, type SpanCounts, trackSpanExports } from './export-stats.ts'
import { loadSdk } from './sdk.ts'
import { createSpanExporter, type OtlpSpanExporter } from './span-exporter.ts'
import { createTracing, noopTracing, type ServerAddress, spanObserver, type Tracing } from './tracing.ts'

interface TracingPart extends SnapshotPart {
  readonly spans: SpanCounts
}

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    readonly tracing?: TracingPart
  }
}

const layerRows = ({ tracing: settings }: Config, tracing: Tracing): readonly LayerRow[] => {
  const hasTiming = settings?.serverTiming || null
  const formatOtlp = ({ otlp, sample }: TracingConfig): string => `${otlp}, sample: ${formatPercent(sample)}`
  return [
    layerRow('tracing', 'tracing.otlp', settings?.otlp ? settings : null, formatOtlp, () => tracingLayer(tracing)),
    layerRow('server-timing', 'tracing.serverTiming', hasTiming, String, () => serverTimingLayer, 'false'),
  ]
}

export const describe: RuntimePart['describe'] = (config) => ({
  layers: () => layerRows(config, noopTracing),
  responseFields: () => (config.tracing?.serverTiming === true ? [{ name: 'server-timing' }] : []),
})

export const prepare = async ({ tracing }: Config): Promise<void> => {
  if (typeof tracing?.otlp === 'string') await loadSdk()
}

export const open: RuntimePart['open'] = ({ place, logEvent }): ProcessPart => {
  const spans = emptySpanCounts()
  // One exporter for each receiver that a snapshot uses.
  const exporters = new RefCountedMap<OtlpSpanExporter>()
  // Receivers distinguish gateways and workers by this id.
  const instanceId = randomUUID()
  return {
    /** Throws unless {@link prepare} was awaited. */
    acquire({ config }): TracingPart {
      const { tracing: settings, listen } = config
      if (place.role === 'primary' || typeof settings?.otlp !== 'string') return { ...describe(config), spans }
      const { otlp: url, sample, headers, serviceName } = settings
      const receiver = { url, headers, serviceName }
      const name = JSON.stringify(receiver)
      const open = () => createSpanExporter(receiver, instanceId, trackSpanExports(spans, logEvent))
      const exporter = exporters.acquire(name, open)
      const tracing = createTracing(exporter, sample, toServerAddress(listen))
      return {
        ...describe(config),
        spans,
        layers: () => layerRows(config, tracing),
        observer: spanObserver,
        // When the last attempt has ended. Other snapshots may use the receiver.
        release: async () => exporters.release(name)?.close(),
      }
    },
  }
}

/** `listen.publicUrl`, or the listener's address. */
const toServerAddress = (listen: ListenConfig): ServerAddress => {
  const { publicUrl, tls, host, port } = listen
  const [inFront] = askFacts((facts) => facts.clientScheme?.(listen))
  const scheme = tls === null && inFront !== 'https:' ? 'http' : 'https'
  if (publicUrl === null) return { scheme, address: host === '0.0.0.0' || host === '::' ? null : host, port }
  const { protocol, hostname, port: explicitPort } = new URL(publicUrl)
  const isTls = protocol === 'https:'
  return {
    scheme: isTls ? 'https' : 'http',
    address: hostname,
    port: explicitPort === '' ? (isTls ? 443 : 80) : Number(explicitPort),
  }
}

/**
 * Server Timing §2: how long the response's head took, in the gateway and at the upstream (the last attempt). Names
 * nothing behind the gateway. Outermost, so it covers the gateway's own responses too.
 */
const serverTimingLayer: Layer = (next) => (exchange) => {
  const startedAt = now()
  return next(exchange).finally(() => addServerTiming(exchange, startedAt))
}

const addServerTiming = (exchange: Exchange, startedAt: number): void => {
  const { upstreamMs } = exchange.attempts
  const gateway = `gateway;dur=${tenths(now() - startedAt - (upstreamMs ?? 0))}`
  exchange.addedResponseFields ??= []
  exchange.addedResponseFields.push(
    'Server-Timing',
    upstreamMs === null ? gateway : `${gateway}, upstream;dur=${tenths(upstreamMs)}`,
  )
}

const tenths = (ms: number): string => `${roundToTenths(Math.max(0, ms))}`

/**
 * Outermost: traces rejected requests too, and inner layers see the fields that upstreams get. {@link spanObserver}
 * ends it.
 */
const tracingLayer =
  (traces: Tracing): Layer =>
  (next) =>
  (exchange) => {
    exchange.trace = traces.startTrace(exchange)
    return next(exchange)
  }
