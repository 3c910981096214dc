import type { Attributes, SpanContext } from '@opentelemetry/api'
import type { IdGenerator } from '@opentelemetry/sdk-trace'
import type { AttemptRecord, AttemptTrace, Exchange, ExchangeTrace } from '../../core/exchange/exchange.ts'
import type { GatewayError } from '../../core/exchange/failures/errors.ts'
import { fieldNameEquals, type HeaderFields, omitFields } from '../../core/exchange/header-fields.ts'
import { epochMs, now } from '../../core/lib/clock.ts'
import type { ExchangeFacts, ExchangeObserver, ExchangeRecord } from '../../core/log/exchange-record.ts'
import type { Operation, Side } from '../../operations.ts'
import { sdk } from './sdk.ts'
import type { OtlpSpanExporter } from './span-exporter.ts'

export type Tracing = ReturnType<typeof createTracing>

/**
 * The beginner of a trace decides on sampling. New traces are sampled by their id alone, so that gateways decide alike.
 * An unsampled exchange gets ids alone.
 */
export const createTracing = (exporter: OtlpSpanExporter, sample: number, server: ServerAddress) => {
  const { trace, api, core } = sdk()
  const { RECORD_AND_SAMPLED } = trace.SamplingDecision
  const ids = new trace.RandomIdGenerator()
  const sampler = new trace.ParentBasedSampler({ root: new trace.TraceIdRatioBasedSampler(sample) })
  return {
    startTrace(exchange: Pick<Exchange, 'operation' | 'fields'>): ExchangeTrace {
      const { operation, fields } = exchange
      const incoming = parseTraceContext(fields, core.parseTraceParent)
      const parent = incoming === 'broken' ? null : incoming
      const traceId = parent?.traceId ?? ids.generateTraceId()
      const context = parent === null ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
      const { decision } = sampler.shouldSample(context, traceId, operation.id, api.SpanKind.SERVER, {}, [])
      if (decision === RECORD_AND_SAMPLED) {
        exchange.fields =
          incoming === null ? fields : omitFields(fields, parent === null ? traceContextFields : traceparentField)
        return new SampledTrace({ exporter, ids, server, operation, traceId, parent })
      }
      // W3C Trace Context §3.4: a participant that records nothing may pass the fields on unchanged.
      if (parent === null) {
        const kept = incoming === null ? fields : omitFields(fields, traceContextFields)
        exchange.fields = [...kept, 'traceparent', formatTraceparent(traceId, ids.generateSpanId(), randomFlag)]
      }
      return unsampledTrace(traceId)
    },
  }
}

/** For a snapshot that only describes a configuration. */
export const noopTracing: Tracing = { startTrace: () => unsampledTrace('') }

const unsampledTrace = (traceId: string): ExchangeTrace => ({ traceId, attempt: () => null })

interface SampledTraceInit {
  readonly exporter: OtlpSpanExporter
  readonly ids: IdGenerator
  readonly server: ServerAddress
  readonly operation: Operation
  readonly traceId: string
  /** The caller's span; null: the trace begins here. */
  readonly parent: SpanContext | null
}

export class SampledTrace implements ExchangeTrace {
  readonly traceId: string
  readonly #init: SampledTraceInit
  readonly #spanId: string
  /** Read once, so that the spans of an exchange fit together. */
  readonly #clockOffsetMs = epochMs() - now()
  readonly #traceFlags: number
  #attempts = 0

  constructor(init: SampledTraceInit) {
    this.traceId = init.traceId
    this.#init = init
    this.#spanId = init.ids.generateSpanId()
    const { parent } = init
    this.#traceFlags = sdk().api.TraceFlags.SAMPLED | ((parent?.traceFlags ?? randomFlag) & randomFlag)
  }

  attempt(endpoint: string, side: Side | null): AttemptTrace {
    const { exporter, ids, operation } = this.#init
    const { traceId } = this
    const spanId = ids.generateSpanId()
    const resends = this.#attempts++
    const startedAt = now()
    exporter.acquire()
    return {
      fields: (fields) => [...fields, 'traceparent', formatTraceparent(traceId, spanId, this.#traceFlags)],
      end: (status, failure) => {
        const { api } = sdk()
        exporter.enqueue({
          name: spanName(operation),
          kind: api.SpanKind.CLIENT,
          traceId,
          spanId,
          parent: { traceId, spanId: this.#spanId, traceFlags: this.#traceFlags },
          startedAt: this.#clockOffsetMs + startedAt,
          endedAt: this.#clockOffsetMs + now(),
          attributes: attemptAttributes(operation, { endpoint, side }, resends, status, failure),
          isError: isErrorSpan(failure, status ?? 0, 400),
        })
        exporter.release()
      },
    }
  }

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

const spanName = ({ method, path }: Operation): string => `${method} ${path}`

/** W3C Trace Context: if one is invalid, both are ignored. */
const traceContextFields: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

const traceparentField: ReadonlySet<string> = new Set(['traceparent'])

/** `broken`: invalid, or sent twice. A new trace begins (W3C Trace Context §3.2, §4.3). */
const parseTraceContext = (fields: HeaderFields, parse: (value: string) => SpanContext | null) => {
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

/**
 * W3C Trace Context Level 2 §3.2.2.5: the last 7 bytes of the trace id are random. Set for a new trace, kept for a
 * continued one. Of other flags, only `sampled` is sent.
 */
const randomFlag = 2

const formatTraceparent = (traceId: string, spanId: string, flags: number): string =>
  `00-${traceId}-${spanId}-0${flags}`

export const spanObserver: ExchangeObserver = {
  name: 'tracing',
  record(record) {
    const { exchange } = record
    if (exchange?.trace instanceof SampledTrace) exchange.trace.end(record, exchange)
  },
}

export interface ServerAddress {
  readonly scheme: 'http' | 'https'
  /** Null: all addresses. */
  readonly address: string | null
  /** 0: any port. */
  readonly port: number
}

/** An allow-list without text of clients: no query, field, Host, request id or address. */
const exchangeAttributes = (
  { id, group, method, path }: Operation,
  server: ServerAddress,
  { status, failure, bytesIn, bytesOut, configHash }: ExchangeRecord,
  { outcome, attempts, side }: ExchangeFacts,
): Attributes => {
  const { conventions: c } = sdk()
  return {
    [c.ATTR_HTTP_REQUEST_METHOD]: method,
    [c.ATTR_HTTP_ROUTE]: path,
    [c.ATTR_URL_PATH]: path,
    [c.ATTR_URL_SCHEME]: server.scheme,
    ...(server.address === null ? {} : { [c.ATTR_SERVER_ADDRESS]: server.address }),
    ...(server.port === 0 ? {} : { [c.ATTR_SERVER_PORT]: server.port }),
    ...(failure?.kind === 'client-gone' ? {} : { [c.ATTR_HTTP_RESPONSE_STATUS_CODE]: status }),
    ...errorType(failure, status, 500),
    'http.request.body.size': bytesIn,
    'http.response.body.size': bytesOut,
    'lender_gateway.operation': id,
    'lender_gateway.group': group,
    'lender_gateway.attempts': attempts.count,
    'lender_gateway.config_hash': configHash,
    ...(outcome === null ? {} : { [`lender_gateway.${outcome.source}`]: outcome.outcome }),
    ...(side === null ? {} : { 'lender_gateway.side': side, 'lender_gateway.fell_back': attempts.fellBack }),
    ...reasonAttribute(failure),
  }
}

const attemptAttributes = (
  { method, path, group }: Operation,
  { endpoint, side }: Pick<AttemptRecord, 'endpoint' | 'side'>,
  resends: number,
  status: number | null,
  failure: GatewayError | null,
): Attributes => {
  const { conventions: c } = sdk()
  return {
    [c.ATTR_HTTP_REQUEST_METHOD]: method,
    ...serverAttributes(endpoint, path),
    ...(status === null ? {} : { [c.ATTR_HTTP_RESPONSE_STATUS_CODE]: status }),
    ...(resends === 0 ? {} : { [c.ATTR_HTTP_REQUEST_RESEND_COUNT]: resends }),
    ...errorType(failure, status ?? 0, 400),
    'lender_gateway.group': group,
    'lender_gateway.endpoint': endpoint,
    ...(side === null ? {} : { 'lender_gateway.side': side }),
    ...reasonAttribute(failure),
  }
}

/** A client's fault is no error of the server's span. */
const isErrorSpan = (failure: GatewayError | null, status: number, from: 400 | 500): boolean =>
  failure === null ? status >= from : failure.fault !== 'client'

const errorType = (failure: GatewayError | null, status: number, from: 400 | 500): Attributes => {
  const type = failure?.kind ?? (status >= from ? String(status) : null)
  return type === null ? {} : { [sdk().conventions.ATTR_ERROR_TYPE]: type }
}

const reasonAttribute = (failure: GatewayError | null): Attributes =>
  failure === null || failure.reason === null ? {} : { 'lender_gateway.reason': failure.reason }

const serverAttributes = (endpoint: string, path: string): Attributes => {
  const { conventions: c } = sdk()
  const url = URL.parse(endpoint)
  if (url === null) return { [c.ATTR_SERVER_ADDRESS]: endpoint } // the sandbox
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  const address = url.hostname.replace(/^\[|\]$/g, '')
  return { [c.ATTR_SERVER_ADDRESS]: address, [c.ATTR_SERVER_PORT]: port, [c.ATTR_URL_FULL]: endpoint + path }
}
