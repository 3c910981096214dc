import { randomUUID } from 'node:crypto'
import type { Config, ListenConfig } from '../../config/config.ts'
import { type LogSpanEvent, type SpanCounts, SpanExportStats } from '../../observe/tracing/export-stats.ts'
import { loadSdk } from '../../observe/tracing/sdk.ts'
import type { ServerAddress } from '../../observe/tracing/span-attributes.ts'
import { OtlpSpanExporter } from '../../observe/tracing/span-exporter.ts'
import { createTracing, type Tracing } from '../../observe/tracing/tracing.ts'
import { RefCountedMap } from '../../shared/ref-counted-map.ts'

/** Is what follows exchanges as long as a snapshot needs it. */
export interface TracerLease {
  /** Null: nobody is told of them. */
  readonly tracing: Tracing | null
  /** Sends what waits, unless another snapshot sends to the same place. */
  release(): Promise<void>
}

/** Has what a configuration needs loaded, before a snapshot is built of it. */
export const preloadTracing = async ({ tracing }: Config): Promise<void> => {
  if (typeof tracing?.otlp === 'string') await loadSdk()
}

/** Keeps what sends spans from a process: one for each receiver, as long as a snapshot sends there. */
export class TracerRegistry {
  readonly #exporters = new RefCountedMap<OtlpSpanExporter>()
  readonly #counts: SpanCounts
  readonly #logEvent: LogSpanEvent
  // Processes are told apart by it: several gateways, and the workers of one.
  readonly #instanceId = randomUUID()

  constructor(counts: SpanCounts, logEvent: LogSpanEvent) {
    this.#counts = counts
    this.#logEvent = logEvent
  }

  /** Throws where {@link preloadTracing} has not been waited for. */
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

/** Follows nothing. */
export const nullTracerLease: TracerLease = { tracing: null, release: async () => {} }

/** Tells exchanges by where clients find the gateway, where the file says so, or else by where it listens. */
const toServerAddress = ({ publicUrl, tls, host, port }: ListenConfig): ServerAddress => {
  const scheme = tls === null ? 'http' : 'https'
  if (publicUrl === null) return { scheme, address: host === '0.0.0.0' || host === '::' ? null : host, port }
  const { protocol, hostname, port: explicitPort } = new URL(publicUrl)
  const isTls = protocol === 'https:'
  return {
    scheme: isTls ? 'https' : 'http',
    address: hostname,
    port: explicitPort === '' ? (isTls ? 443 : 80) : Number(explicitPort),
  }
}
