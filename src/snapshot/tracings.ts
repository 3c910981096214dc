import { randomUUID } from 'node:crypto'
import type { Config, ListenConfig } from '../config/config.ts'
import type { Site } from '../observe/tracing/attributes.ts'
import { Exporting } from '../observe/tracing/exporting.ts'
import { loadSdk } from '../observe/tracing/sdk.ts'
import { openTracing, type Tracing } from '../observe/tracing/tracing.ts'
import { type SpanCounts, type TellTrouble, Trouble } from '../observe/tracing/trouble.ts'
import { Kept } from '../shared/kept.ts'

/** Is what follows exchanges as long as a snapshot needs it. */
export interface HeldTracing {
  /** Null: nobody is told of them. */
  readonly tracing: Tracing | null
  /** Sends what waits, unless another snapshot sends to the same place. */
  release(): Promise<void>
}

/** Has what a configuration needs loaded, before a snapshot is built of it. */
export const readyFor = async ({ tracing }: Config): Promise<void> => {
  if (typeof tracing?.otlp === 'string') await loadSdk()
}

/** Keeps what sends spans from a process: one for each receiver, as long as a snapshot sends there. */
export class Tracings {
  readonly #kept = new Kept<Exporting>()
  readonly #counts: SpanCounts
  readonly #tell: TellTrouble
  // Processes are told apart by it: several gateways, and the workers of one.
  readonly #instanceId = randomUUID()

  constructor(counts: SpanCounts, tell: TellTrouble) {
    this.#counts = counts
    this.#tell = tell
  }

  /** Throws where {@link readyFor} has not been waited for. */
  hold({ tracing, listen }: Config): HeldTracing {
    if (typeof tracing?.otlp !== 'string') return noTracing
    const { otlp: url, sample, headers, serviceName } = tracing
    const receiver = { url, headers, serviceName }
    const name = JSON.stringify(receiver)
    const open = () => new Exporting(receiver, this.#instanceId, new Trouble(this.#counts, this.#tell))
    const exporting = this.#kept.hold(name, open)
    return {
      tracing: openTracing(exporting, sample, siteOf(listen)),
      release: async () => this.#kept.release(name)?.close(),
    }
  }
}

/** Follows nothing. */
export const noTracing: HeldTracing = { tracing: null, release: async () => {} }

/** Tells exchanges by where clients find the gateway, where the file says so, or else by where it listens. */
const siteOf = ({ publicUrl, tls, host, port }: ListenConfig): Site => {
  const scheme = tls === null ? 'http' : 'https'
  if (publicUrl === null) return { scheme, address: host === '0.0.0.0' || host === '::' ? null : host, port }
  const { protocol, hostname, port: said } = new URL(publicUrl)
  const isTls = protocol === 'https:'
  return { scheme: isTls ? 'https' : 'http', address: hostname, port: said === '' ? (isTls ? 443 : 80) : Number(said) }
}
