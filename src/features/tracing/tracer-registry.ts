import { randomUUID } from 'node:crypto'
import type { Config, ListenConfig } from '../../core/config/config.ts'
import { RefCountedMap } from '../../core/lib/ref-counted-map.ts'
import type { LogEvent } from '../../core/log/log-event.ts'
import { type SpanCounts, SpanExportStats } from './export-stats.ts'
import { loadSdk } from './sdk.ts'
import type { ServerAddress } from './span-attributes.ts'
import { OtlpSpanExporter } from './span-exporter.ts'
import { createTracing, type Tracing } from './tracing.ts'

interface TracerLease {
  /** Null: no span is exported. */
  readonly tracing: Tracing | null
  /** Exports the pending spans when all attempts have ended, unless another snapshot exports to the same receiver. */
  release(): Promise<void>
}

/** Loads the SDK that a configuration needs, before a snapshot is built from it. */
export const preloadTracing = async ({ tracing }: Config): Promise<void> => {
  if (typeof tracing?.otlp === 'string') await loadSdk()
}

/** The span exporters of a process: one for each receiver, as long as a snapshot exports there. */
export class TracerRegistry {
  readonly #exporters = new RefCountedMap<OtlpSpanExporter>()
  readonly #counts: SpanCounts
  readonly #logEvent: LogEvent
  // Receivers tell processes apart by it: several gateways, and the workers of one.
  readonly #instanceId = randomUUID()

  constructor(counts: SpanCounts, logEvent: LogEvent) {
    this.#counts = counts
    this.#logEvent = logEvent
  }

  /** Throws where {@link preloadTracing} has not been awaited. */
  acquire({ tracing, listen }: Config): TracerLease {
    if (typeof tracing?.otlp !== 'string') return nullTracerLease
    const { otlp: url, sample, headers, serviceName } = tracing
    const receiver = { url, headers, serviceName }
    const name = JSON.stringify(receiver)
    const open = () =>
      new OtlpSpanExporter(receiver, this.#instanceId, new SpanExportStats(this.#counts, this.#logEvent))
    const exporter = this.#exporters.acquire(name, open)
    return {
      tracing: createTracing(exporter, sample, toServerAddress(listen)),
      release: async () => this.#exporters.release(name)?.close(),
    }
  }
}

const nullTracerLease: TracerLease = { tracing: null, release: async () => {} }

/**
 * Returns the server address of spans: where clients find the gateway, if the file says so, or else where it listens.
 */
const toServerAddress = ({ publicUrl, tls, proxyProtocol, host, port }: ListenConfig): ServerAddress => {
  const scheme = tls === null && proxyProtocol?.scheme !== 'https' ? 'http' : 'https'
  if (publicUrl === null) return { scheme, address: host === '0.0.0.0' || host === '::' ? null : host, port }
  const { protocol, hostname, port: explicitPort } = new URL(publicUrl)
  const isTls = protocol === 'https:'
  return {
    scheme: isTls ? 'https' : 'http',
    address: hostname,
    port: explicitPort === '' ? (isTls ? 443 : 80) : Number(explicitPort),
  }
}
