import { Agent as TlsAgent } from 'node:https'
import type { Attributes, Context, SpanContext, SpanKind } from '@opentelemetry/api'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import { Agent } from '../../core/exchange/node-http.ts'
import { settlesWithin, unrefTimeout } from '../../core/lib/clock.ts'
import { verifiedTls } from '../../core/lib/net/tls.ts'
import { version } from '../../core/lib/program.ts'
import type { TracingConfig } from './config.ts'
import type { SpanExportStats } from './export-stats.ts'
import { sdk } from './sdk.ts'

const defaultLimits = {
  /** About 1 KiB each. Further spans are dropped. */
  maxQueued: 2048,
  batchSize: 512,
  delayMs: 5000,
  exportMs: 10_000,
  flushMs: 1000,
}

/** Times are milliseconds since the epoch. */
export interface FinishedSpan {
  readonly name: string
  readonly kind: SpanKind
  readonly traceId: string
  readonly spanId: string
  readonly parent: SpanContext | null
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Attributes
  readonly isError: boolean
}

export type OtlpSpanExporter = ReturnType<typeof createSpanExporter>

/**
 * Sends spans to one collector, in batches. No request waits: a span without room is dropped before anything is
 * allocated.
 */
export const createSpanExporter = (
  otlp: OtlpTransportOptions,
  instanceId: string,
  stats: SpanExportStats,
  limits = defaultLimits,
) => {
  const { api, trace, resources, conventions } = sdk()
  let currentIds: Pick<FinishedSpan, 'traceId' | 'spanId'> = { traceId: '', spanId: '' }
  let queued = 0
  let openAttempts = 0
  let onIdle = (): void => {}
  let closed: Promise<void> | null = null
  let isClosed = false

  const transport = openOtlpTransport(otlp, limits.exportMs, stats, {
    onSend: (spans) => {
      queued -= spans
    },
    isClosing: () => isClosed,
  })
  const batches = new trace.BatchSpanProcessor({
    exporter: transport,
    maxQueueSize: limits.maxQueued,
    maxExportBatchSize: limits.batchSize,
    scheduledDelayMillis: limits.delayMs,
    exportTimeoutMillis: 3 * limits.exportMs, // the transport's own timeout is shorter, and knows the reason
  })
  const provider = new trace.TracerProvider({
    resource: resources.defaultResource().merge(
      resources.resourceFromAttributes({
        [conventions.ATTR_SERVICE_NAME]: otlp.serviceName,
        [conventions.ATTR_SERVICE_VERSION]: version(),
        [conventions.ATTR_SERVICE_INSTANCE_ID]: instanceId,
      }),
    ),
    sampler: new trace.AlwaysOnSampler(),
    idGenerator: { generateTraceId: () => currentIds.traceId, generateSpanId: () => currentIds.spanId },
    spanProcessors: [batches],
  })
  const tracer = provider.getTracer('lender-gateway', version())

  const createSpan = (finished: FinishedSpan): void => {
    const { name, kind, parent, startedAt, endedAt, attributes, isError } = finished
    const context: Context = parent === null ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
    currentIds = finished
    const span = tracer.startSpan(name, { kind, attributes, startTime: startedAt }, context)
    if (isError) span.setStatus({ code: api.SpanStatusCode.ERROR })
    queued++ // a full batch goes out at once
    span.end(endedAt)
  }

  const close = async (): Promise<void> => {
    stats.retire()
    while (openAttempts > 0) {
      await new Promise<void>((resolve) => {
        onIdle = resolve
      })
    }
    isClosed = true
    const sent = provider.shutdown().catch(() => {})
    await settlesWithin(limits.flushMs, sent)
    transport.destroy()
  }

  return {
    enqueue(finished: FinishedSpan): void {
      if (isClosed) return stats.onLost('dropped', 1, 'the receiver is no longer used')
      if (queued >= limits.maxQueued) return stats.onLost('dropped', 1, 'too many spans wait')
      try {
        createSpan(finished)
      } catch {
        stats.onLost('dropped', 1, 'the span could not be made')
      }
    },
    acquire: () => void openAttempts++,
    release(): void {
      if (--openAttempts === 0) onIdle()
    },
    /** Waits for open attempts, which may outlive snapshots, then sends waiting spans within `flushMs`. */
    close: () => (closed ??= close()),
  }
}

// One at a time, but at the end all: four batches, beside one under way.
const maxConcurrentExports = 8

interface OtlpTransportOptions extends Pick<TracingConfig, 'headers' | 'serviceName'> {
  readonly url: string
}

interface OtlpTransport extends SpanExporter {
  /** Ends exports under way, and starts none. */
  destroy(): void
}

/**
 * `exportMs` bounds a batch with its retries. `isClosing`: batches go out side by side. Follows no redirect. Replaces
 * the SDK's `OTLPTraceExporter`, which reads variables (`OTEL_EXPORTER_OTLP_HEADERS` …) that no operator sees in
 * `effective`.
 */
export const openOtlpTransport = (
  { url, headers }: OtlpTransportOptions,
  exportMs: number,
  stats: SpanExportStats,
  { onSend, isClosing }: { onSend(spans: number): void; isClosing(): boolean },
): OtlpTransport => {
  const { otlp, transformer, core } = sdk()
  const { ProtobufTraceSerializer, TraceExporterMetricsHelper } = transformer
  const agentOptions = { keepAlive: true, maxSockets: maxConcurrentExports }
  const { protocol, hostname } = new URL(url)
  const agent =
    protocol === 'https:' ? new TlsAgent({ ...agentOptions, ...verifiedTls(hostname) }) : new Agent(agentOptions)
  /** In the response being read: the SDK only logs this number. */
  let rejectedSpans = 0
  const exporter = otlp.createOtlpHttpExportDelegate(
    {
      url,
      headers: async () => ({
        ...Object.fromEntries(headers.map(({ name, value }) => [name, value])),
        'Content-Type': 'application/x-protobuf',
      }),
      timeoutMillis: exportMs,
      concurrencyLimit: maxConcurrentExports,
      compression: 'none',
      agentFactory: () => agent,
    },
    {
      serializeRequest: ProtobufTraceSerializer.serializeRequest,
      deserializeResponse: (bytes) => {
        const response = ProtobufTraceSerializer.deserializeResponse(bytes)
        rejectedSpans = response.partialSuccess?.rejectedSpans ?? 0
        return response
      },
    },
    'otlp_http_span_exporter',
    TraceExporterMetricsHelper,
    undefined,
  )
  return {
    export(spans: ReadableSpan[], done) {
      onSend(spans.length)
      let isLate = false
      // The SDK's timeout is on silence: a collector that sends slowly would hold a batch for ever.
      const settle = unrefTimeout(exportMs, () => {
        isLate = true
        if (!isClosing()) agent.destroy()
      })
      exporter.export(spans, (result) => {
        settle()
        // A collector may send any number, even NaN.
        const rejected = rejectedSpans > 0 ? Math.min(rejectedSpans, spans.length) : 0
        rejectedSpans = 0
        if (result.code === core.ExportResultCode.SUCCESS) stats.onExported(spans.length, rejected)
        else stats.onLost('failed', spans.length, isLate ? 'no response in time' : toLossReason(result.error))
        // After a failure, the processor would send the next two batches at once. The loss is counted.
        done({ code: core.ExportResultCode.SUCCESS })
      })
    },
    shutdown: () => exporter.shutdown(),
    destroy() {
      // Otherwise the SDK would retry.
      agent.createConnection = () => {
        throw new Error('nothing is sent any more')
      }
      agent.destroy()
    },
  }
}

/** A status or Node's error code, never text that the collector sent. */
const toLossReason = (error: unknown): string => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (typeof code === 'number') return `status ${code}`
  if (typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code)) return code
  const message = error instanceof Error ? error.message : ''
  return knownMessages.find(({ by }) => message.includes(by))?.reason ?? 'unknown'
}

const knownMessages = [
  { by: 'timed out', reason: 'no response in time' },
  { by: 'retryable status', reason: 'status 429, 502, 503 or 504' },
  { by: 'limit reached', reason: 'too many batches under way' },
] as const
