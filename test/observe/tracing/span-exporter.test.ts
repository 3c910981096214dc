import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { emptySpanCounts, type SpanCounts, SpanExportStats } from '../../../src/observe/tracing/export-stats.ts'
import { loadSdk, sdk } from '../../../src/observe/tracing/sdk.ts'
import { type FinishedSpan, OtlpSpanExporter } from '../../../src/observe/tracing/span-exporter.ts'
import { freePort } from '../../helpers/free-port.ts'
import { type Behaviour, type SpanReceiver, spanReceiver } from '../../helpers/span-receiver.ts'

beforeAll(() => loadSdk())

// What is to arrive may take long on a machine that is busy; what is to be given up is not waited for.
const limits = { maxQueued: 8, batchSize: 4, delayMs: 5, exportMs: 20_000, flushMs: 20_000 }
const soon = 200

/** Opens what sends to a receiver, with the bounds of a test, and closes it when the test has finished. */
const exporterTo = (url: string, more: Partial<typeof limits> = {}) => {
  const counts = emptySpanCounts()
  const told: (readonly [event: string, fields: object])[] = []
  const stats = new SpanExportStats(counts, (_, event, fields) => told.push([event, fields]))
  const config = { url, headers: [{ name: 'X-Tenant', value: 'lender', secret: false }], serviceName: 'gateway' }
  const exporting = new OtlpSpanExporter(config, 'instance', stats, { ...limits, ...more })
  onTestFinished(() => exporting.close())
  return { exporting, counts, told }
}

let made = 0

const tell = (exporting: OtlpSpanExporter, more: Partial<FinishedSpan> = {}): void => {
  made++
  exporting.enqueue({
    name: 'GET /market/insights',
    kind: sdk().api.SpanKind.SERVER,
    traceId: String(made).padStart(32, '0'),
    spanId: String(made).padStart(16, '0'),
    parent: null,
    startedAt: 1_800_000_000_000.25,
    endedAt: 1_800_000_000_001.5,
    attributes: {},
    isError: false,
    ...more,
  })
}

const sum = ({ exported, dropped, failed }: SpanCounts): number => exported + dropped + failed

test('what is told arrives with its ids and times, and is counted', async () => {
  const receiver = await spanReceiver()
  const { exporting, counts, told } = exporterTo(receiver.url)

  tell(exporting)
  const [span] = await receiver.come(1)
  await exporting.close()

  expect(span).toMatchObject({
    traceId: String(made).padStart(32, '0'),
    spanId: String(made).padStart(16, '0'),
    parentSpanId: '',
    kind: 'server',
    startMs: 1_800_000_000_000.25,
    endMs: 1_800_000_000_001.5,
  })
  expect([counts, told]).toEqual([{ exported: 1, dropped: 0, failed: 0, exportFailure: null }, []])
})

test('one that cannot be made is dropped, and nobody but the log hears of it', async () => {
  const receiver = await spanReceiver()
  const { exporting, counts, told } = exporterTo(receiver.url)
  const attributes = Object.defineProperty({}, 'broken', {
    enumerable: true,
    get: () => {
      throw new Error('planted')
    },
  })

  tell(exporting, { attributes })
  tell(exporting)
  await receiver.come(1)

  expect(counts.dropped).toBe(1)
  expect(told[0]).toEqual(['spans are lost', { dropped: 1, failed: 0, reason: 'the span could not be made' }])
})

describe('a receiver that is of no use', () => {
  // A connection that breaks is tried again after about 1 s, then 1.5: so long is waited for the third.
  const twice = 3500

  test.each<[string, Behaviour, number, string]>([
    ['hangs', 'hang', soon, 'no answer in time'],
    ['resets', 'reset', twice, 'ECONNRESET'],
    ['answers 400', 400, limits.exportMs, 'status 400'],
    ['answers 401', 401, limits.exportMs, 'status 401'],
    ['answers 429', 429, limits.exportMs, 'status 429, 502, 503 or 504'],
    ['answers 503', 503, limits.exportMs, 'status 429, 502, 503 or 504'],
  ])('%s: its spans are counted as failed, and why is told once', async (_, how, exportMs, reason) => {
    const receiver = await spanReceiver()
    receiver.behave(how, { 'Retry-After': '3600' })
    const { exporting, counts, told } = exporterTo(receiver.url, { exportMs })

    for (let i = 0; i < 4; i++) tell(exporting)
    await expect.poll(() => counts.failed).toBe(4)

    expect(told).toEqual([['spans are lost', { dropped: 0, failed: 4, reason }]])
  })

  test('is not there: they are counted as failed', async () => {
    const { exporting, counts, told } = exporterTo(`http://127.0.0.1:${await freePort()}/v1/traces`, {
      exportMs: twice,
    })

    tell(exporting)
    await expect.poll(() => counts.failed).toBe(1)

    expect(told).toEqual([['spans are lost', { dropped: 0, failed: 1, reason: 'ECONNREFUSED' }]])
  })

  test('answers a byte at a time: the next batch is sent all the same', async () => {
    const receiver = await spanReceiver()
    receiver.behave('drip')
    const { exporting } = exporterTo(receiver.url, { exportMs: soon, flushMs: soon })

    for (let i = 0; i < 4; i++) tell(exporting)
    await receiver.asked(1)
    for (let i = 0; i < 4; i++) tell(exporting)

    await receiver.asked(2)
  })

  test('sends elsewhere: nobody else is asked', async () => {
    const [receiver, other] = [await spanReceiver(), await spanReceiver()]
    receiver.behave(307, { Location: other.url })
    const { exporting, counts } = exporterTo(receiver.url)

    tell(exporting)
    await expect.poll(() => counts.failed).toBe(1)

    expect(other.batches).toEqual([])
  })

  test('that comes back is told of, with what was lost meanwhile', async () => {
    const receiver = await spanReceiver()
    receiver.behave(400)
    const { exporting, counts, told } = exporterTo(receiver.url)
    tell(exporting)
    await expect.poll(() => counts.failed).toBe(1)
    tell(exporting)
    await expect.poll(() => counts.failed).toBe(2)

    receiver.behave('take')
    tell(exporting)
    await expect.poll(() => counts.exported).toBe(1)

    expect(told.slice(1)).toEqual([['spans arrive again', { dropped: 0, failed: 1 }]])
  })
})

describe('what waits', () => {
  const hanging = async (): Promise<SpanReceiver> => {
    const receiver = await spanReceiver()
    receiver.behave('hang')
    return receiver
  }

  test('is bounded: beside a batch on its way no more than may wait, the rest is dropped at once', async () => {
    const receiver = await hanging()
    const { exporting, counts, told } = exporterTo(receiver.url, { flushMs: soon })

    for (let i = 0; i < 1000; i++) tell(exporting)

    expect(counts).toMatchObject({ exported: 0, dropped: 1000 - limits.batchSize - limits.maxQueued, failed: 0 })
    expect(told).toEqual([['spans are lost', { dropped: 1, failed: 0, reason: 'too many spans wait' }]])
  })

  test('is given up when the time at the end is over, and nothing is taken any more', async () => {
    const receiver = await hanging()
    const { exporting, counts } = exporterTo(receiver.url, { flushMs: soon })
    for (let i = 0; i < 6; i++) tell(exporting)

    await exporting.close()
    tell(exporting)

    expect(counts.dropped).toBe(1)
    await expect.poll(() => counts.failed).toBe(6)
  })

  test('is sent at the end, in as many batches as it takes', async () => {
    const receiver = await spanReceiver()
    const { exporting, counts } = exporterTo(receiver.url, { delayMs: 60_000, maxQueued: 64 })
    for (let i = 0; i < 23; i++) tell(exporting)

    await exporting.close()

    expect(receiver.spans).toHaveLength(23)
    expect([counts.exported, sum(counts)]).toEqual([23, 23])
  })
})

test('what stands in variables of OpenTelemetry is not sent, and stands there still', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-planted=planted')
  vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://planted.invalid/')
  vi.stubEnv('OTEL_SERVICE_NAME', 'planted')
  onTestFinished(() => void vi.unstubAllEnvs())
  const receiver = await spanReceiver()
  const { exporting } = exporterTo(receiver.url)

  tell(exporting)
  const [span] = await receiver.come(1)

  expect(receiver.batches[0]?.headers).toMatchObject({ 'x-tenant': 'lender' })
  expect(receiver.batches[0]?.headers).not.toHaveProperty('x-planted')
  expect(span?.resource['service.name']).toBe('gateway')
  expect(process.env.OTEL_EXPORTER_OTLP_HEADERS).toBe('x-planted=planted')
})

test('a receiver that answers with more than anybody reads costs nothing but its batch', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200)
    const pour = (): void => {
      while (response.write(Buffer.alloc(64 * 1024))) {}
      response.once('drain', pour)
    }
    response.on('error', () => {})
    pour()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const { exporting, counts } = exporterTo(`http://127.0.0.1:${port}/v1/traces`, { exportMs: soon })

  tell(exporting)

  await expect.poll(() => sum(counts)).toBe(1)
})

test('what is not taken of one that is closed is counted, and nobody is told that it is so still', async () => {
  const receiver = await spanReceiver()
  receiver.behave(400)
  const { exporting, counts } = exporterTo(receiver.url, { flushMs: soon })
  tell(exporting)
  await vi.waitFor(() => expect(counts.exportFailure).not.toBeNull(), { timeout: 30_000 })

  tell(exporting)
  await exporting.close()
  tell(exporting)

  expect(counts).toMatchObject({ exported: 0, dropped: 1, exportFailure: null })
})
