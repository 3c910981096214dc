import type { SpanContext } from '@opentelemetry/api'
import type { IdGenerator } from '@opentelemetry/sdk-trace'
import type { Operation } from '../../catalog.ts'
import { now, wallClock } from '../../clock.ts'
import type { AttemptTrace, ExchangeTrace } from '../../exchange.ts'
import type { Exchanged, Facts } from '../exchanged.ts'
import { attemptAttributes, exchangeAttributes, isError, type Site } from './attributes.ts'
import { traceparent } from './context.ts'
import type { Exporting } from './exporting.ts'
import { sdk } from './sdk.ts'

/** Is what a sampled trace stands on. */
interface Begun {
  readonly exporting: Exporting
  readonly ids: IdGenerator
  readonly site: Site
  readonly operation: Operation
  readonly traceId: string
  /** The span of whoever called; null: the trace begins here. */
  readonly parent: SpanContext | null
}

/** Is an exchange that spans are told of: its own, and one an attempt. They are made when they are over, from what is known then. */
export class SampledTrace implements ExchangeTrace {
  readonly traceId: string
  readonly #begun: Begun
  readonly #spanId: string
  /** What is to be added to the monotonic clock to have the time of day: it is asked once, so that the spans of an exchange fit together. */
  readonly #epoch = wallClock() - now()
  #attempts = 0

  constructor(begun: Begun) {
    this.traceId = begun.traceId
    this.#begun = begun
    this.#spanId = begun.ids.generateSpanId()
  }

  attempt(endpoint: string): AttemptTrace {
    const { exporting, ids, operation } = this.#begun
    const { traceId } = this
    const spanId = ids.generateSpanId()
    const resends = this.#attempts++
    const startedAt = now()
    return {
      fields: (fields) => [...fields, 'traceparent', traceparent(traceId, spanId, true)],
      end: (status, failure) => {
        const { api } = sdk()
        exporting.tell({
          name: nameOf(operation),
          kind: api.SpanKind.CLIENT,
          traceId,
          spanId,
          parent: { traceId, spanId: this.#spanId, traceFlags: api.TraceFlags.SAMPLED },
          startedAt: this.#epoch + startedAt,
          endedAt: this.#epoch + now(),
          attributes: attemptAttributes(operation, endpoint, resends, status, failure),
          isError: isError(failure, status ?? 0, 400),
        })
      },
    }
  }

  /** Tells the exchange itself, which began `totalMs` ago. */
  end(exchanged: Exchanged, exchange: Facts): void {
    const { exporting, operation, parent, site } = this.#begun
    const endedAt = this.#epoch + now()
    exporting.tell({
      name: nameOf(operation),
      kind: sdk().api.SpanKind.SERVER,
      traceId: this.traceId,
      spanId: this.#spanId,
      parent,
      startedAt: endedAt - exchanged.totalMs,
      endedAt,
      attributes: exchangeAttributes(operation, site, exchanged, exchange),
      isError: isError(exchanged.failure, exchanged.status, 500),
    })
  }
}

// There are nine of them, so that the path makes no more names.
const nameOf = ({ method, path }: Operation): string => `${method} ${path}`
