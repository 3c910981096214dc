import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { emptySpanCounts, type SpanCounts, trackSpanExports } from '../../../src/features/tracing/export-stats.ts'
import { loadSdk, sdk } from '../../../src/features/tracing/sdk.ts'
import {
  createSpanExporter,
  type FinishedSpan,
  type OtlpSpanExporter,
} from '../../../src/features/tracing/span-exporter.ts'
import { needCertificates } from '../../helpers/certificates.ts'
import { freePort } from '../../helpers/free-port.ts'
import { httpsUpstream } from '../../helpers/https-upstream.ts'
import { type Behavior, spanReceiver } from '../../helpers/span-receiver.ts'
import { switchVerificationOff } from '../../helpers/unverified-tls.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const { made, missing } = await needCertificates()

beforeAll(() => loadSdk())

// A busy machine may be slow: only spans that must arrive are waited for.
const limits = { maxQueued: 8, batchSize: 4, delayMs: 5, exportMs: 20_000, flushMs: 20_000 }
const soon = 200

/** Opens an exporter to a URL, with a test's limits, and closes it when the test has finished. */
const exporterTo = (url: string, more: Partial<typeof limits> = {}) => {
  const counts = emptySpanCounts()
  const logged: (readonly [event: string, fields: object])[] = []
  const stats = trackSpanExports(counts, (_, event, fields) => logged.push([event, fields]))
  const headers = [{ name: 'X-Tenant', value: 'lender', secret: false, hidden: true }]
  const exporter = createSpanExporter({ url, headers, serviceName: 'gateway' }, 'instance', stats, {
    ...limits,
    ...more,
  })
  onTestFinished(() => exporter.close())
  return { exporter, counts, logged }
}

const openExporter = async (how: Behavior = 'take', more: Partial<typeof limits> = {}) => {
  const receiver = await spanReceiver()
  receiver.behave(how, { 'Retry-After': '3600' })
  return { receiver, ...exporterTo(receiver.url, more) }
}

const lost = (dropped: number, failed: number, reason: string) => ['spans are lost', { dropped, failed, reason }]

let created = 0

const enqueue = (exporter: OtlpSpanExporter, more: Partial<FinishedSpan> = {}): void => {
  created++
  exporter.enqueue({
    name: 'GET /market/insights',
    kind: sdk().api.SpanKind.SERVER,
    traceId: String(created).padStart(32, '0'),
    spanId: String(created).padStart(16, '0'),
    parent: null,
    startedAt: 1_800_000_000_000.25,
    endedAt: 1_800_000_000_001.5,
    attributes: {},
    isError: false,
    ...more,
  })
}

const enqueueMany = (exporter: OtlpSpanExporter, count: number): void => {
  for (let i = 0; i < count; i++) enqueue(exporter)
}

const sum = ({ exported, dropped, failed }: SpanCounts): number => exported + dropped + failed

test('a span arrives with its ids and times, and is counted', async () => {
  const { receiver, exporter, counts, logged } = await openExporter()

  enqueue(exporter)
  const [span] = await receiver.come(1)
  await exporter.close()

  expect(span).toMatchObject({
    traceId: String(created).padStart(32, '0'),
    spanId: String(created).padStart(16, '0'),
    ...{ parentSpanId: '', kind: 'server', startMs: 1_800_000_000_000.25, endMs: 1_800_000_000_001.5 },
  })
  expect([counts, logged]).toEqual([{ exported: 1, dropped: 0, failed: 0, exportFailure: null }, []])
})

test('a span that cannot be created is dropped, and only the log says so', async () => {
  const { receiver, exporter, counts, logged } = await openExporter()
  const get = () => {
    throw new Error('planted')
  }

  enqueue(exporter, { attributes: Object.defineProperty({}, 'broken', { enumerable: true, get }) })
  enqueue(exporter)
  await receiver.come(1)

  expect(counts.dropped).toBe(1)
  expect(logged[0]).toEqual(lost(1, 0, 'the span could not be made'))
})

describe('a collector that is of no use', () => {
  // A connection that breaks is retried after about 1 s; there is no time for the next try, after 1.5 more.
  const once = 1900

  test.each<[string, Behavior | 'nobody', number, string]>([
    ['hangs', 'hang', soon, 'no response in time'],
    ['resets', 'reset', once, 'ECONNRESET'],
    ['is not there', 'nobody', once, 'ECONNREFUSED'],
    ['responds with 400', 400, limits.exportMs, 'status 400'],
    ['responds with 503', 503, limits.exportMs, 'status 429, 502, 503 or 504'],
  ])('%s: its spans are counted as failed, and why is logged once', async (_, how, exportMs, reason) => {
    const { exporter, counts, logged } =
      how === 'nobody'
        ? exporterTo(`http://127.0.0.1:${await freePort()}/v1/traces`, { exportMs })
        : await openExporter(how, { exportMs })

    enqueueMany(exporter, 4)
    await expect.poll(() => counts.failed).toBe(4)

    expect(logged).toEqual([lost(0, 4, reason)])
  })

  test('responds with a byte at a time: the next batch is sent all the same', async () => {
    const { receiver, exporter } = await openExporter('drip', { exportMs: soon, flushMs: soon })

    enqueueMany(exporter, 4)
    await receiver.asked(1)
    enqueueMany(exporter, 4)

    await receiver.asked(2)
  })

  test('redirects: no other server is called', async () => {
    const other = await spanReceiver()
    const { receiver, exporter, counts } = await openExporter()
    receiver.behave(307, { Location: other.url })

    enqueue(exporter)
    await expect.poll(() => counts.failed).toBe(1)

    expect(other.batches).toEqual([])
  })

  test('that comes back is logged, with what was lost meanwhile', async () => {
    const { receiver, exporter, counts, logged } = await openExporter(400)
    for (const failed of [1, 2]) {
      enqueue(exporter)
      await expect.poll(() => counts.failed).toBe(failed)
    }

    receiver.behave('take')
    enqueue(exporter)
    await expect.poll(() => counts.exported).toBe(1)

    expect(logged.slice(1)).toEqual([['spans arrive again', { dropped: 0, failed: 1 }]])
  })
})

describe('a batch of which the collector', () => {
  /** Encodes an `ExportTraceServiceResponse` whose `partial_success.rejected_spans` has these bytes. */
  const partialSuccess = (rejectedSpans: readonly number[]): Buffer => {
    const length = rejectedSpans.length + 1
    const prefix = length < 128 ? [length] : [(length & 127) | 128, length >> 7]
    return Buffer.from([0x0a, ...prefix, 0x08, ...rejectedSpans])
  }

  test.each<[string, readonly number[], number]>([
    ['rejects one span', [1], 1],
    ['rejects more spans than it has', [100], 4],
    ['says that it rejects -1', [...new Array<number>(9).fill(0xff), 1], 4],
    ['rejects none', [0], 0],
    ['says no number', [...new Array<number>(150).fill(0x80), 1], 0],
  ])('%s: those count as failed, and the rest as exported', async (_, rejectedSpans, failed) => {
    const { exporter, counts, logged } = await openExporter(partialSuccess(rejectedSpans))

    enqueueMany(exporter, 4)
    await expect.poll(() => sum(counts)).toBe(4)

    const exportFailure = failed === 0 ? null : { reason: 'partial success' }
    expect(counts).toMatchObject({ exported: 4 - failed, failed, exportFailure })
    expect(logged).toEqual(failed === 0 ? [] : [lost(0, failed, 'partial success')])
  })
})

describe('what waits', () => {
  test('is limited: beside a batch on its way no more than may wait, the rest is dropped at once', async () => {
    const { exporter, counts, logged } = await openExporter('hang', { flushMs: soon })

    enqueueMany(exporter, 1000)

    expect(counts).toMatchObject({ exported: 0, dropped: 1000 - limits.batchSize - limits.maxQueued, failed: 0 })
    expect(logged).toEqual([lost(1, 0, 'too many spans wait')])
  })

  test('goes out one batch at a time, also after one that was rejected', async () => {
    const { receiver, exporter, counts } = await openExporter(400, { flushMs: soon })
    enqueueMany(exporter, 8)
    await receiver.asked(1)
    receiver.behave('hang')
    await receiver.asked(2)

    enqueueMany(exporter, 9)

    // A third batch would have made room for all of them.
    expect(counts).toMatchObject({ dropped: 1, failed: 4 })
  })

  test('is sent at the end beside a batch that becomes late, and is not cut with it', async () => {
    const { receiver, exporter, counts } = await openExporter('hang', { flushMs: 60_000 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    enqueueMany(exporter, 4)
    await receiver.asked(1)
    vi.advanceTimersByTime(limits.exportMs - 1)
    enqueueMany(exporter, 2)

    const closed = exporter.close()
    await receiver.asked(2)
    vi.advanceTimersByTime(1)
    receiver.release()
    await closed

    expect(counts).toMatchObject({ exported: 6, failed: 0 })
  })

  test('is given up when the time at the end has passed, and nothing is taken any more', async () => {
    const { exporter, counts } = await openExporter('hang', { flushMs: soon })
    enqueueMany(exporter, 6)

    await exporter.close()
    enqueue(exporter)

    expect(counts.dropped).toBe(1)
    await expect.poll(() => counts.failed).toBe(6)
  })

  test('is sent at the end, in as many batches as it takes', async () => {
    const { receiver, exporter, counts } = await openExporter('take', { delayMs: 60_000, maxQueued: 64 })
    enqueueMany(exporter, 23)

    await exporter.close()

    expect([receiver.spans.length, counts.exported, sum(counts)]).toEqual([23, 23, 23])
  })
})

test('spans of attempts that have begun are waited for at the end, by all that wait for the end', async () => {
  const { receiver, exporter, counts } = await openExporter()
  exporter.acquire()
  exporter.acquire()
  const closed = [exporter.close(), exporter.close()]

  for (let i = 0; i < 2; i++) {
    enqueue(exporter)
    exporter.release()
  }
  await Promise.all(closed)

  expect([receiver.spans.length, counts.exported, sum(counts)]).toEqual([2, 2, 2])
})

test('a span that comes after the end is dropped, and the log says why', async () => {
  const { exporter, logged } = await openExporter()
  await exporter.close()

  enqueue(exporter)

  expect(logged).toEqual([lost(1, 0, 'the receiver is no longer used')])
})

test('what stands in variables of OpenTelemetry is not sent, and stands there still', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-planted=planted')
  vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://planted.invalid/')
  vi.stubEnv('OTEL_SERVICE_NAME', 'planted')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { receiver, exporter } = await openExporter()

  enqueue(exporter)
  const [span] = await receiver.come(1)

  expect(receiver.batches[0]?.headers).toMatchObject({ 'x-tenant': 'lender' })
  expect(receiver.batches[0]?.headers).not.toHaveProperty('x-planted')
  expect(span?.resource['service.name']).toBe('gateway')
  expect(process.env.OTEL_EXPORTER_OTLP_HEADERS).toBe('x-planted=planted')
})

test('a collector that sends more than is read costs nothing but its batch', async () => {
  const { url } = await httpUpstream((_, response) => {
    response.on('error', () => {}).writeHead(200)
    const pour = (): void => {
      while (response.write(Buffer.alloc(64 * 1024))) {}
      response.once('drain', pour)
    }
    pour()
  })
  const { exporter, counts } = exporterTo(`${url}/v1/traces`, { exportMs: soon })

  enqueue(exporter)

  await expect.poll(() => sum(counts)).toBe(1)
})

test('spans that a closed exporter loses are counted, and are no failure that goes on', async () => {
  const { exporter, counts } = await openExporter(400, { flushMs: soon })
  enqueue(exporter)
  await expect.poll(() => counts.exportFailure).not.toBeNull()

  enqueue(exporter)
  await exporter.close()
  enqueue(exporter)

  expect(counts).toMatchObject({ exported: 0, dropped: 1, exportFailure: null })
})

test.skipIf(missing)('a collector whose certificate does not verify gets nothing, whatever Node is told', async () => {
  switchVerificationOff()
  const collector = await httpsUpstream(made.right)
  const { exporter, counts } = exporterTo(`https://127.0.0.1:${collector.port}/v1/traces`)

  enqueue(exporter)
  await exporter.close()

  expect([collector.requests(), counts.exported]).toEqual([0, 0])
})
