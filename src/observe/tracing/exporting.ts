import type { Attributes, Context, SpanContext, SpanKind, Tracer } from '@opentelemetry/api'
import type { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { within } from '../../clock.ts'
import { version } from '../../version.ts'
import { openReceiver, type Receiver, type ReceiverConfig } from './receiver.ts'
import { sdk } from './sdk.ts'
import type { Trouble } from './trouble.ts'

/** Says how many spans wait, and for how long. */
export interface ExportBounds {
  /** Most spans that wait: about 1 KiB each. What is beyond is dropped. */
  readonly maxWaiting: number
  readonly batch: number
  /** How long a span waits for others. */
  readonly delayMs: number
  /** How long a batch is tried to be sent. */
  readonly exportMs: number
  /** How long what waits is tried to be sent at the end. */
  readonly flushMs: number
}

const usual: ExportBounds = { maxWaiting: 2048, batch: 512, delayMs: 5000, exportMs: 10_000, flushMs: 2000 }

/** Is a span that is over: it is made when all that it tells is known. Times are milliseconds since the epoch. */
export interface Told {
  readonly name: string
  readonly kind: SpanKind
  readonly traceId: string
  readonly spanId: string
  /** Null: it is the first of its trace. */
  readonly parent: SpanContext | null
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Attributes
  readonly isError: boolean
}

/**
 * Sends spans to one receiver, in batches, from this process. Nobody waits for it: what finds no room is dropped, before anything is made
 * of it.
 */
export class Exporting {
  readonly #bounds: ExportBounds
  readonly #trouble: Trouble
  readonly #receiver: Receiver
  readonly #batches: BatchSpanProcessor
  readonly #provider: TracerProvider
  readonly #tracer: Tracer
  /** Whose ids the span has that is being made. */
  #making: Pick<Told, 'traceId' | 'spanId'> = { traceId: '', spanId: '' }
  #waiting = 0
  #isClosed = false

  constructor(otlp: ReceiverConfig, instanceId: string, trouble: Trouble, bounds: ExportBounds = usual) {
    const { trace, resources, conventions } = sdk()
    this.#bounds = bounds
    this.#trouble = trouble
    this.#receiver = openReceiver(otlp, bounds.exportMs, trouble)
    this.#batches = new trace.BatchSpanProcessor({
      exporter: this.#counting(),
      maxQueueSize: bounds.maxWaiting,
      maxExportBatchSize: bounds.batch,
      scheduledDelayMillis: bounds.delayMs,
      exportTimeoutMillis: 3 * bounds.exportMs, // the receiver's own comes first, and knows why
    })
    this.#provider = new trace.TracerProvider({
      resource: resources.defaultResource().merge(
        resources.resourceFromAttributes({
          [conventions.ATTR_SERVICE_NAME]: otlp.serviceName,
          [conventions.ATTR_SERVICE_VERSION]: version(),
          [conventions.ATTR_SERVICE_INSTANCE_ID]: instanceId,
        }),
      ),
      // What is told has been decided about.
      sampler: new trace.AlwaysOnSampler(),
      idGenerator: { generateTraceId: () => this.#making.traceId, generateSpanId: () => this.#making.spanId },
      spanProcessors: [this.#batches],
    })
    this.#tracer = this.#provider.getTracer('lender-gateway', version())
  }

  /** Takes a span that is over. Whatever goes wrong with it, whoever tells of it hears nothing. */
  tell(told: Told): void {
    if (this.#isClosed || this.#waiting >= this.#bounds.maxWaiting)
      return this.#trouble.lost('dropped', 1, 'too many spans wait')
    try {
      this.#make(told)
    } catch {
      this.#trouble.lost('dropped', 1, 'the span could not be made')
    }
  }

  #make(told: Told): void {
    const { api } = sdk()
    const { name, kind, parent, startedAt, endedAt, attributes, isError } = told
    const context: Context = parent === null ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
    this.#making = told
    const span = this.#tracer.startSpan(name, { kind, attributes, startTime: startedAt }, context)
    if (isError) span.setStatus({ code: api.SpanStatusCode.ERROR })
    this.#waiting++ // before it is over: a batch that is full goes out at once
    span.end(endedAt)
  }

  /** Sends what waits, as far as that can be done in time, and takes nothing more. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#trouble.over()
    await within(
      this.#bounds.flushMs,
      this.#provider.shutdown().catch(() => {}),
    )
    this.#receiver.end()
  }

  #counting(): Receiver {
    const receiver = this.#receiver
    return {
      ...receiver,
      export: (spans, done) => {
        this.#waiting -= spans.length
        receiver.export(spans, done)
      },
    }
  }
}
