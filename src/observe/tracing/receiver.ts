import { Agent as TlsAgent } from 'node:https'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import { later } from '../../clock.ts'
import type { TracingConfig } from '../../config/config.ts'
import { Agent } from '../../node-http.ts'
import { sdk } from './sdk.ts'
import type { Trouble } from './trouble.ts'

// One at a time, and at the end all that wait: four batches, beside one that is under way.
const maxAtOnce = 8

/** Describes who is sent spans: `url` is the whole one that traces are posted to. */
export interface ReceiverConfig extends Pick<TracingConfig, 'headers' | 'serviceName'> {
  readonly url: string
}

/** Is a receiver of spans. */
export interface Receiver extends SpanExporter {
  /** Cuts what is under way, and connects no more. */
  end(): void
}

/**
 * Speaks to a receiver by OTLP/HTTP, and counts what it takes. `exportMs` is for one batch, its retries included. A redirect is not followed. Only what the file says is sent: the exporter's own
 * variables (`OTEL_EXPORTER_OTLP_HEADERS` …) would add to it what no operator sees in `effective`.
 */
export const openReceiver = ({ url, headers }: ReceiverConfig, exportMs: number, trouble: Trouble): Receiver => {
  const { otlp, core } = sdk()
  const agent = new (url.startsWith('https:') ? TlsAgent : Agent)({ keepAlive: true, maxSockets: maxAtOnce })
  const exporter = withoutVariables(
    () =>
      new otlp.OTLPTraceExporter({
        url,
        headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
        timeoutMillis: exportMs,
        concurrencyLimit: maxAtOnce,
        httpAgentOptions: () => agent,
      }),
  )
  return {
    export(spans: ReadableSpan[], done) {
      let isLate = false
      // The exporter's own bound is on silence: one that answers a byte at a time would hold a batch for ever.
      const settle = later(exportMs, () => {
        isLate = true
        agent.destroy()
      })
      exporter.export(spans, (result) => {
        settle()
        if (result.code === core.ExportResultCode.SUCCESS) trouble.arrived(spans.length)
        else trouble.lost('failed', spans.length, isLate ? 'no answer in time' : reasonOf(result.error))
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    end() {
      // What was cut would be tried again.
      agent.createConnection = () => {
        throw new Error('nothing is sent any more')
      }
      agent.destroy()
    },
  }
}

/** Says why in words that the receiver has no part in: a status, or Node's name for what went wrong. */
const reasonOf = (error: unknown): string => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (typeof code === 'number') return `status ${code}`
  if (typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code)) return code
  const message = error instanceof Error ? error.message : ''
  return said.find(({ by }) => message.includes(by))?.reason ?? 'unknown'
}

const said = [
  { by: 'timed out', reason: 'no answer in time' },
  { by: 'retryable status', reason: 'status 429, 502, 503 or 504' },
  { by: 'limit reached', reason: 'too many batches under way' },
] as const

/** Makes something that looks for its settings in variables, and finds none; nothing else runs meanwhile. */
const withoutVariables = <T>(make: () => T): T => {
  const hidden = Object.entries(process.env).filter(([name]) => name.startsWith('OTEL_'))
  for (const [name] of hidden) delete process.env[name]
  try {
    return make()
  } finally {
    for (const [name, value] of hidden) process.env[name] = value
  }
}
