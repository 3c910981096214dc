import type { Attributes, Context, SpanContext, SpanKind, Tracer } from '@opentelemetry/api'
import type { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { settlesWithin } from '../../core/lib/clock.ts'
import { version } from '../../core/lib/version.ts'
import type { SpanExportStats } from './export-stats.ts'
import { type OtlpTransport, type OtlpTransportOptions, openOtlpTransport } from './otlp-transport.ts'
import { sdk } from './sdk.ts'

/** How many spans wait, and for how long. Tests set other limits. */
const defaultLimits = {
  /** The most spans that wait: about 1 KiB each. Those beyond are dropped. */
  maxQueued: 2048,
  batchSize: 512,
  delayMs: 5000,
  exportMs: 10_000,
  /** How long it tries to send what waits at the end. */
  flushMs: 1000,
}

/** A finished span: created when all of it is known. Times are milliseconds since the epoch. */
export interface FinishedSpan {
  readonly name: string
  readonly kind: SpanKind
  readonly traceId: string
  readonly spanId: string
  /** Null: the span is the first of its trace. */
  readonly parent: SpanContext | null
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Attributes
  readonly isError: boolean
}

/**
 * Sends spans to one collector, in batches, from this process. No request waits for it: a span that finds no room is
 * dropped, before anything is allocated for it.
 */
export class OtlpSpanExporter {
  readonly #limits: typeof defaultLimits
  readonly #stats: SpanExportStats
  readonly #transport: OtlpTransport
  readonly #batches: BatchSpanProcessor
  readonly #provider: TracerProvider
  readonly #tracer: Tracer
  /** The ids of the span that is being created. */
  #currentIds: Pick<FinishedSpan, 'traceId' | 'spanId'> = { traceId: '', spanId: '' }
  #queued = 0
  /** Attempts that have begun, and whose spans are to come. */
  #openAttempts = 0
  #onIdle: () => void = () => {}
  #closed: Promise<void> | null = null
  #isClosed = false

  constructor(otlp: OtlpTransportOptions, instanceId: string, stats: SpanExportStats, limits = defaultLimits) {
    const { trace, resources, conventions } = sdk()
    this.#limits = limits
    this.#stats = stats
    this.#transport = openOtlpTransport(otlp, limits.exportMs, stats, {
      onSend: (spans) => {
        this.#queued -= spans
      },
      isClosing: () => this.#isClosed,
    })
    this.#batches = new trace.BatchSpanProcessor({
      exporter: this.#transport,
      maxQueueSize: limits.maxQueued,
      maxExportBatchSize: limits.batchSize,
      scheduledDelayMillis: limits.delayMs,
      exportTimeoutMillis: 3 * limits.exportMs, // the transport's own timeout comes first, and knows the reason
    })
    this.#provider = new trace.TracerProvider({
      resource: resources.defaultResource().merge(
        resources.resourceFromAttributes({
          [conventions.ATTR_SERVICE_NAME]: otlp.serviceName,
          [conventions.ATTR_SERVICE_VERSION]: version(),
          [conventions.ATTR_SERVICE_INSTANCE_ID]: instanceId,
        }),
      ),
      // Only sampled spans get here.
      sampler: new trace.AlwaysOnSampler(),
      idGenerator: { generateTraceId: () => this.#currentIds.traceId, generateSpanId: () => this.#currentIds.spanId },
      spanProcessors: [this.#batches],
    })
    this.#tracer = this.#provider.getTracer('lender-gateway', version())
  }

  /** Never throws. */
  enqueue(finished: FinishedSpan): void {
    if (this.#isClosed) return this.#stats.onLost('dropped', 1, 'the receiver is no longer used')
    if (this.#queued >= this.#limits.maxQueued) return this.#stats.onLost('dropped', 1, 'too many spans wait')
    try {
      this.#createSpan(finished)
    } catch {
      this.#stats.onLost('dropped', 1, 'the span could not be made')
    }
  }

  #createSpan(finished: FinishedSpan): void {
    const { api } = sdk()
    const { name, kind, parent, startedAt, endedAt, attributes, isError } = finished
    const context: Context = parent === null ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
    this.#currentIds = finished
    const span = this.#tracer.startSpan(name, { kind, attributes, startTime: startedAt }, context)
    if (isError) span.setStatus({ code: api.SpanStatusCode.ERROR })
    this.#queued++ // before its end: a full batch goes out at once
    span.end(endedAt)
  }

  /** Keeps it open for the span of an attempt that begins, until {@link release}. */
  acquire(): void {
    this.#openAttempts++
  }

  release(): void {
    if (--this.#openAttempts === 0) this.#onIdle()
  }

  /**
   * Waits until no attempt is under way: they may outlive their clients, and so the snapshots. Then sends what waits,
   * within `flushMs`, and takes no more spans.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#stats.retire()
    while (this.#openAttempts > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    this.#isClosed = true
    await settlesWithin(
      this.#limits.flushMs,
      this.#provider.shutdown().catch(() => {}),
    )
    this.#transport.destroy()
  }
}
