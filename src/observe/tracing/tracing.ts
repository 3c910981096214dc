import type { Sampler } from '@opentelemetry/sdk-trace'
import type { Operation } from '../../catalog.ts'
import type { Exchange, ExchangeTrace } from '../../exchange.ts'
import { without } from '../../fields.ts'
import type { Site } from './attributes.ts'
import type { Exporting } from './exporting.ts'
import { contextFields, parentField, readContext, SampledTrace, traceparent } from './sampled-trace.ts'
import { sdk } from './sdk.ts'

/** Is what follows exchanges through several systems, as one snapshot has it. */
export interface Tracing {
  /** Gives an exchange its place in a trace: the one that its client says, or a new one. */
  begin(exchange: Pick<Exchange, 'operation' | 'fields'>): ExchangeTrace
}

/**
 * Follows exchanges. Whoever began a trace decides whether it is sampled; of those that begin here it is a share, by the trace id alone, so
 * that several gateways decide alike. Of what is not sampled nothing is made but ids: no span, no context, nothing to be collected.
 */
export const openTracing = (exporting: Exporting, sample: number, site: Site): Tracing => {
  const { trace, api, core } = sdk()
  const ids = new trace.RandomIdGenerator()
  const sampler = new trace.ParentBasedSampler({ root: new trace.TraceIdRatioBasedSampler(sample) })
  return {
    begin(exchange) {
      const { operation, fields } = exchange
      const said = readContext(fields, core.parseTraceParent)
      const parent = said === 'broken' ? null : said
      const traceId = parent?.traceId ?? ids.generateTraceId()
      const context = parent === null ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
      if (isSampled(sampler, context, traceId, operation)) {
        exchange.fields = said === null ? fields : without(fields, parent === null ? contextFields : parentField)
        return new SampledTrace({ exporting, ids, site, operation, traceId, parent })
      }
      // W3C Trace Context §3.4: whoever records nothing may pass it on as it came.
      if (parent === null) {
        const kept = said === null ? fields : without(fields, contextFields)
        exchange.fields = [...kept, 'traceparent', traceparent(traceId, ids.generateSpanId(), false)]
      }
      return new UnsampledTrace(traceId)
    },
  }
}

/** Follows nothing, for whoever serves nothing: to tell of a configuration, say. */
export const nobody: Tracing = { begin: () => new UnsampledTrace('') }

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
