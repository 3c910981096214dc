import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import protobuf from 'protobufjs'
import { onTestFinished } from 'vitest'
import { eventually } from './wire.ts'

const folder = fileURLToPath(new URL('opentelemetry-proto/', import.meta.url))
const root = new protobuf.Root()
root.resolvePath = (_, target) => join(folder, target)
root.loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto')
const service = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest')

/** A span as a receiver sees it. Ids are hex, times in milliseconds. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  /** Empty: it has none. */
  readonly parentSpanId: string
  readonly traceState: string
  readonly name: string
  readonly kind: 'server' | 'client' | string
  readonly isError: boolean
  readonly startMs: number
  readonly endMs: number
  readonly attributes: { readonly [name: string]: unknown }
  readonly resource: { readonly [name: string]: unknown }
}

/** Says what a receiver does with a batch: responds with a status, or 200 and a body, or nothing, or not even that. */
export type Behavior = 'take' | 'hang' | 'drip' | 'reset' | number | Buffer

export interface SpanReceiver {
  /** What `tracing.otlp` is. */
  readonly url: string
  readonly spans: readonly Span[]
  /** All bodies, as they came. */
  readonly bytes: () => Buffer
  readonly batches: readonly { readonly headers: IncomingHttpHeaders; readonly path: string }[]
  /** Waits until as many spans have come. */
  come(count: number): Promise<readonly Span[]>
  /** Waits until as many batches have come, whatever became of them. */
  asked(count: number): Promise<void>
  behave(how: Behavior, headers?: Readonly<Record<string, string>>): void
  /** Responds to the batches that hang with 200. */
  release(): void
  close(): Promise<void>
}

/**
 * Opens a receiver of OTLP/HTTP, which reads what comes with the published protobufs, and closes it when the test has
 * finished.
 */
export const spanReceiver = async (): Promise<SpanReceiver> => {
  const spans: Span[] = []
  const bodies: Buffer[] = []
  const batches: { headers: IncomingHttpHeaders; path: string }[] = []
  const hanging: ServerResponse[] = []
  let how: Behavior = 'take'
  let fields: Readonly<Record<string, string>> = {}
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    bodies.push(body)
    batches.push({ headers: request.headers, path: request.url ?? '' })
    if (how === 'take') spans.push(...read(body))
    if (how === 'reset') return void request.socket.destroy()
    if (how === 'drip') {
      response.writeHead(200)
      const dripping = setInterval(() => response.write('.'), 20)
      response.on('close', () => clearInterval(dripping))
      return
    }
    if (how === 'hang') return void hanging.push(response)
    response.writeHead(typeof how === 'number' ? how : 200, fields)
    response.end(Buffer.isBuffer(how) ? how : '')
  }
  const server = createServer((request, response) => void receive(request, response).catch(() => {}))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  onTestFinished(close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans,
    bytes: () => Buffer.concat(bodies),
    batches,
    async come(count) {
      await eventually(() => spans.length >= count)
      return spans
    },
    asked: (count) => eventually(() => batches.length >= count),
    behave(next, more = {}) {
      how = next
      fields = more
    },
    release() {
      for (const response of hanging.splice(0)) response.end()
    },
    close,
  }
}

interface KeyValue {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] }
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: Buffer
        readonly spanId: Buffer
        readonly parentSpanId: Buffer
        readonly traceState: string
        readonly name: string
        readonly kind: string
        readonly startTimeUnixNano: string
        readonly endTimeUnixNano: string
        readonly attributes: readonly KeyValue[]
        readonly status: { readonly code: string } | null
      }[]
    }[]
  }[]
}

const read = (body: Buffer): readonly Span[] => {
  const options = { longs: String, enums: String, defaults: true, oneofs: true }
  const { resourceSpans } = service.toObject(service.decode(body), options) as unknown as Sent
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId.toString('hex'),
        spanId: span.spanId.toString('hex'),
        parentSpanId: span.parentSpanId.toString('hex'),
        traceState: span.traceState,
        name: span.name,
        kind: span.kind.replace('SPAN_KIND_', '').toLowerCase(),
        isError: span.status?.code === 'STATUS_CODE_ERROR',
        startMs: Number(BigInt(span.startTimeUnixNano) / 1000n) / 1000,
        endMs: Number(BigInt(span.endTimeUnixNano) / 1000n) / 1000,
        attributes: valuesOf(span.attributes),
        resource: valuesOf(resource.attributes),
      })),
    ),
  )
}

const valuesOf = (attributes: readonly KeyValue[]): { readonly [name: string]: unknown } =>
  Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [kind, held] = Object.entries(value).find(([name]) => name !== 'value') ?? []
      return [key, kind === 'intValue' ? Number(held) : held]
    }),
  )
