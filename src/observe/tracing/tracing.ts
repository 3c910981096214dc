import type { SpanContext } from '@opentelemetry/api'
import type { IdGenerator, Sampler } from '@opentelemetry/sdk-trace'
import { epochMs, now } from '../../clock.ts'
import type { AttemptTrace, Exchange, ExchangeTrace } from '../../exchange.ts'
import { fieldNameEquals, type HeaderFields, omitFields } from '../../header-fields.ts'
import type { Operation } from '../../operations.ts'
import type { ExchangeFacts, ExchangeObserver, ExchangeRecord } from '../exchange-record.ts'
import { sdk } from './sdk.ts'
import { attemptAttributes, exchangeAttributes, isErrorSpan, type ServerAddress } from './span-attributes.ts'
import type { OtlpSpanExporter } from './span-exporter.ts'

/** What follows exchanges through several systems, as one snapshot has it. */
export type Tracing = ReturnType<typeof createTracing>

/**
 * Follows exchanges. Whoever began a trace decides whether it is sampled; of those that begin here it is a share, by the trace id alone, so
 * that several gateways decide alike. Of what is not sampled nothing is made but ids: no span, no context, nothing to be collected.
 */
export const createTracing = (exporter: OtlpSpanExporter, sample: number, server: ServerAddress) => {
  const { trace, api, core } = sdk()
  const ids = new trace.RandomIdGenerator()
  const sampler = new trace.ParentBasedSampler({ root: new trace.TraceIdRatioBasedSampler(sample) })
  return {
    /** Gives an exchange its place in a trace: the one that its client says, or a new one. */
    startTrace(exchange: Pick<Exchange, 'operation' | 'fields'>): ExchangeTrace {
      const { operation, fields } = exchange
      const said = parseTraceContext(fields, core.parseTraceParent)
      const parent = said === 'broken' ? null : said
      const traceId = parent?.traceId ?? ids.generateTraceId()
      const context = parent === null ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
      if (isSampled(sampler, context, traceId, operation)) {
        exchange.fields =
          said === null ? fields : omitFields(fields, parent === null ? traceContextFields : traceparentField)
        return new SampledTrace({ exporter, ids, server, operation, traceId, parent })
      }
      // W3C Trace Context §3.4: whoever records nothing may pass it on as it came.
      if (parent === null) {
        const kept = said === null ? fields : omitFields(fields, traceContextFields)
        exchange.fields = [...kept, 'traceparent', formatTraceparent(traceId, ids.generateSpanId(), false)]
      }
      return new UnsampledTrace(traceId)
    },
  }
}

/** Follows nothing, for whoever serves nothing: to tell of a configuration, say. */
export const noopTracing: Tracing = { startTrace: () => new UnsampledTrace('') }

class UnsampledTrace implements ExchangeTrace {
  readonly traceId: string

  constructor(traceId: string) {
    this.traceId = traceId
  }

  attempt(): null {
    return null
  }
}

const isSampled = (
  sampler: Sampler,
  context: Parameters<Sampler['shouldSample']>[0],
  traceId: string,
  { id }: Operation,
): boolean => {
  const { trace, api } = sdk()
  const { decision } = sampler.shouldSample(context, traceId, id, api.SpanKind.SERVER, {}, [])
  return decision === trace.SamplingDecision.RECORD_AND_SAMPLED
}

/** Is what a sampled trace stands on. */
interface SampledTraceInit {
  readonly exporter: OtlpSpanExporter
  readonly ids: IdGenerator
  readonly server: ServerAddress
  readonly operation: Operation
  readonly traceId: string
  /** The span of whoever called; null: the trace begins here. */
  readonly parent: SpanContext | null
}

/** Is an exchange that spans are told of: its own, and one an attempt. They are made when they are over, from what is known then. */
export class SampledTrace implements ExchangeTrace {
  readonly traceId: string
  readonly #init: SampledTraceInit
  readonly #spanId: string
  /** What is to be added to the monotonic clock to have the time of day: it is asked once, so that the spans of an exchange fit together. */
  readonly #clockOffsetMs = epochMs() - now()
  #attempts = 0

  constructor(init: SampledTraceInit) {
    this.traceId = init.traceId
    this.#init = init
    this.#spanId = init.ids.generateSpanId()
  }

  attempt(endpoint: string): AttemptTrace {
    const { exporter, ids, operation } = this.#init
    const { traceId } = this
    const spanId = ids.generateSpanId()
    const resends = this.#attempts++
    const startedAt = now()
    return {
      fields: (fields) => [...fields, 'traceparent', formatTraceparent(traceId, spanId, true)],
      end: (status, failure) => {
        const { api } = sdk()
        exporter.enqueue({
          name: spanName(operation),
          kind: api.SpanKind.CLIENT,
          traceId,
          spanId,
          parent: { traceId, spanId: this.#spanId, traceFlags: api.TraceFlags.SAMPLED },
          startedAt: this.#clockOffsetMs + startedAt,
          endedAt: this.#clockOffsetMs + now(),
          attributes: attemptAttributes(operation, endpoint, resends, status, failure),
          isError: isErrorSpan(failure, status ?? 0, 400),
        })
      },
    }
  }

  /** Tells the exchange itself, which began `totalMs` ago. */
  end(record: ExchangeRecord, exchange: ExchangeFacts): void {
    const { exporter, operation, parent, server } = this.#init
    const endedAt = this.#clockOffsetMs + now()
    exporter.enqueue({
      name: spanName(operation),
      kind: sdk().api.SpanKind.SERVER,
      traceId: this.traceId,
      spanId: this.#spanId,
      parent,
      startedAt: endedAt - record.totalMs,
      endedAt,
      attributes: exchangeAttributes(operation, server, record, exchange),
      isError: isErrorSpan(record.failure, record.status, 500),
    })
  }
}

// There are nine of them, so that the path makes no more names.
const spanName = ({ method, path }: Operation): string => `${method} ${path}`

/** Lists the fields of W3C Trace Context. Neither is of use without the other's being sound. */
export const traceContextFields: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

/** Is the field that says which trace a request belongs to. */
export const traceparentField: ReadonlySet<string> = new Set(['traceparent'])

/**
 * Reads which trace a request belongs to. `broken`: it says so in no way that counts, or more than once, and a new trace begins without
 * what is said of the old (W3C Trace Context §3.2, §4.3). Null: it says nothing.
 */
export const parseTraceContext = (
  fields: HeaderFields,
  parse: (value: string) => SpanContext | null,
): SpanContext | 'broken' | null => {
  let parent: string | null = null
  let hasTracestate = false
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (name.length === 11 && fieldNameEquals(name, 'traceparent')) {
      if (parent !== null) return 'broken'
      parent = fields[i + 1] as string
    } else if (name.length === 10 && fieldNameEquals(name, 'tracestate')) hasTracestate = true
  }
  if (parent === null) return hasTracestate ? 'broken' : null
  const context = parse(parent)
  return context === null ? 'broken' : { ...context, isRemote: true }
}

/** Writes which trace a request belongs to, and whose child it is. */
export const formatTraceparent = (traceId: string, spanId: string, isSampled: boolean): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

/** Tells the span of each exchange that is sampled, from the facts that the access log has. */
export const spanObserver: ExchangeObserver = {
  name: 'tracing',
  record(record) {
    const { exchange } = record
    if (exchange?.trace instanceof SampledTrace) exchange.trace.end(record, exchange)
  },
}
