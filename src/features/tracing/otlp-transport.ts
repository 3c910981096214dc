import { Agent as TlsAgent } from 'node:https'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import { Agent } from '../../core/exchange/node-http.ts'
import { unrefTimeout } from '../../core/lib/clock.ts'
import { verifiedTls } from '../../core/lib/net/verified-tls.ts'
import type { TracingConfig } from './config.ts'
import type { SpanExportStats } from './export-stats.ts'
import { sdk } from './sdk.ts'

// One at a time, and at the end all that wait: four batches, beside one that is under way.
const maxConcurrentExports = 8

/** Where spans are sent: `url` is the whole URL that traces are posted to. */
export interface OtlpTransportOptions extends Pick<TracingConfig, 'headers' | 'serviceName'> {
  readonly url: string
}

interface OtlpTransportHooks {
  onSend(spans: number): void
  /** Whether batches are sent side by side, until {@link OtlpTransport.destroy} ends all of them. */
  isClosing(): boolean
}

export interface OtlpTransport extends SpanExporter {
  /** Cuts the exports under way, and connects no more. */
  destroy(): void
}

/**
 * Opens a transport to a collector by OTLP/HTTP, and counts what the collector accepts. `exportMs` is for one batch,
 * its retries included. A redirect is not followed. Only what the configuration says is sent: the SDK's
 * `OTLPTraceExporter` would read variables (`OTEL_EXPORTER_OTLP_HEADERS` …), and add what no operator sees in
 * `effective`.
 */
export const openOtlpTransport = (
  { url, headers }: OtlpTransportOptions,
  exportMs: number,
  stats: SpanExportStats,
  { onSend, isClosing }: OtlpTransportHooks,
): OtlpTransport => {
  const { otlp, transformer, core } = sdk()
  const { ProtobufTraceSerializer, TraceExporterMetricsHelper } = transformer
  const agentOptions = { keepAlive: true, maxSockets: maxConcurrentExports }
  const { protocol, hostname } = new URL(url)
  const agent =
    protocol === 'https:' ? new TlsAgent({ ...agentOptions, ...verifiedTls(hostname) }) : new Agent(agentOptions)
  /** How many spans are rejected, by the response that is read just now. The SDK only logs it. */
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
      // The exporter's own timeout is on silence: a collector that sends a byte at a time would hold a batch for ever.
      const settle = unrefTimeout(exportMs, () => {
        isLate = true
        if (!isClosing()) agent.destroy() // no other batch is under way
      })
      exporter.export(spans, (result) => {
        settle()
        // A collector may say any number, and one that is none (NaN).
        const rejected = rejectedSpans > 0 ? Math.min(rejectedSpans, spans.length) : 0
        rejectedSpans = 0
        if (result.code === core.ExportResultCode.SUCCESS) stats.onExported(spans.length, rejected)
        else stats.onLost('failed', spans.length, isLate ? 'no answer in time' : toLossReason(result.error))
        // What became of it is counted. A processor that is told of a failure sends the next two batches at once.
        done({ code: core.ExportResultCode.SUCCESS })
      })
    },
    shutdown: () => exporter.shutdown(),
    destroy() {
      // An export that was cut would be retried.
      agent.createConnection = () => {
        throw new Error('nothing is sent any more')
      }
      agent.destroy()
    },
  }
}

/** Names why spans were lost in words that the collector has no part in: a status, or Node's name of the error. */
const toLossReason = (error: unknown): string => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (typeof code === 'number') return `status ${code}`
  if (typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code)) return code
  const message = error instanceof Error ? error.message : ''
  return knownMessages.find(({ by }) => message.includes(by))?.reason ?? 'unknown'
}

const knownMessages = [
  { by: 'timed out', reason: 'no answer in time' },
  { by: 'retryable status', reason: 'status 429, 502, 503 or 504' },
  { by: 'limit reached', reason: 'too many batches under way' },
] as const
