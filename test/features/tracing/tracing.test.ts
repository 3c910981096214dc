import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadSdk } from '../../../src/features/tracing/sdk.ts'
import type { FinishedSpan, OtlpSpanExporter } from '../../../src/features/tracing/span-exporter.ts'
import { createTracing, SampledTrace } from '../../../src/features/tracing/tracing.ts'
import { allOperations } from '../../../src/operations.ts'

beforeAll(() => loadSdk())

const server = { scheme: 'http', address: null, port: 0 } as const
const [operation] = allOperations

/** Keeps the exported spans. */
const at = (sample: number) => {
  const exported: FinishedSpan[] = []
  const users = { acquire: () => {}, release: () => {} }
  const exporter = { enqueue: (span: FinishedSpan) => exported.push(span), ...users } as unknown as OtlpSpanExporter
  const tracing = createTracing(exporter, sample, server)
  return {
    exported,
    start(fields: readonly string[] = []) {
      const exchange = { operation, fields }
      const trace = tracing.startTrace(exchange)
      return { trace, isSampled: trace instanceof SampledTrace, fields: exchange.fields }
    },
  }
}

const hex = (length: number) =>
  fc
    .uint8Array({ minLength: length / 2, maxLength: length / 2 })
    .map((bytes) => Buffer.from(bytes).toString('hex'))
    .filter((text) => !/^0+$/.test(text))

const parent = fc
  .tuple(hex(32), hex(16), fc.integer({ min: 0, max: 255 }))
  .map(([traceId, spanId, flags]) => ({ traceId, spanId, flags: flags.toString(16).padStart(2, '0') }))

describe('what goes on of the trace context of a caller', () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const callerId = 'b7ad6b7169203331'
  const sound = `00-${traceId}-${callerId}-01`

  /** Returns the trace, and the fields for an upstream. */
  const passOn = (sample: number, fields: readonly string[]) => {
    const { trace, fields: kept } = at(sample).start(fields)
    return { traceId: trace.traceId, fields: trace.attempt('http://upstream', null)?.fields(kept) ?? kept }
  }

  test('is its state as it came, and the span of the attempt as its parent', () => {
    const { fields } = passOn(1, ['tracestate', 'a=1', 'TraceParent', sound, 'X', 'y', 'Tracestate', 'b=2'])

    const parent = expect.stringMatching(new RegExp(`^00-${traceId}-(?!${callerId})[0-9a-f]{16}-01$`))
    expect(fields).toEqual(['tracestate', 'a=1', 'X', 'y', 'Tracestate', 'b=2', 'traceparent', parent])
  })

  test.each([
    ['two of them', ['traceparent', sound, 'traceparent', sound]],
    ['in upper case', ['traceparent', sound.toUpperCase()]],
    ['a trace of zeros', ['traceparent', `00-${'0'.repeat(32)}-${callerId}-01`]],
    ['a span of zeros', ['traceparent', `00-${traceId}-${'0'.repeat(16)}-01`]],
    ['an invalid version', ['traceparent', `ff${sound.slice(2)}`]],
    ['more than its version has', ['traceparent', `${sound}-more`]],
    ['something else', ['traceparent', 'from whoever it may be']],
    ['none', []],
  ])('is nothing, not even its state, of %s: a new trace begins', (_, fields) => {
    for (const [sample, flags] of [[1, '03'] as const, [0, '02'] as const]) {
      const passed = passOn(sample, [...fields, 'tracestate', 'a=1'])

      const parent = expect.stringMatching(new RegExp(`^00-${passed.traceId}-[0-9a-f]{16}-${flags}$`))
      expect(passed.traceId).not.toBe(traceId)
      expect(passed.fields).toEqual(['traceparent', parent])
    }
  })

  // W3C Trace Context Level 2 §3.2.2.5: the random flag is kept, and a flag that is not defined is sent as 0.
  test.each([
    ['00', '03', '03'],
    ['00', '01', '01'],
    ['00', 'ff', '03'],
    ['00', 'fd', '01'],
    ['cc', '01-what-nobody-knows-yet', '01'], // a version that is yet to come is continued as the one that is known
  ])('is of version %s and flags %s what is defined: %s', (version, flags, sent) => {
    const { fields } = passOn(1, ['traceparent', `${version}-${traceId}-${callerId}-${flags}`])

    expect(fields[1]).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-${sent}$`))
  })

  test('is all of it, to the byte, where its root has not sampled it', () => {
    const fields = ['traceparent', `00-${traceId}-${callerId}-00`, 'tracestate', 'a=1']

    expect(passOn(1, fields)).toEqual({ traceId, fields })
  })
})

describe('whether a trace is sampled', () => {
  test('is decided by its parent, for every trace and whatever the share', () => {
    const gateways = [at(0), at(0.01), at(1)]

    fc.assert(
      fc.property(parent, ({ traceId, spanId, flags }) => {
        const traceparent = ['traceparent', `00-${traceId}-${spanId}-${flags}`]
        const isWanted = Number.parseInt(flags, 16) % 2 === 1
        for (const { start } of gateways) {
          const { trace, isSampled, fields } = start(traceparent)
          expect([trace.traceId, isSampled]).toEqual([traceId, isWanted])
          expect(fields).toEqual(isWanted ? [] : traceparent)
        }
      }),
    )
  })

  // Of 40,000 at 5 % 2,000 are expected, with a standard deviation of 44: one such run in 10^12 is seven of them off.
  test.each([
    [0, 0, 0],
    [0.05, 1700, 2300],
    [1, 40_000, 40_000],
  ])('where it begins here is a matter of the share: %f', (share, min, max) => {
    const { start } = at(share)
    let sampled = 0

    for (let i = 0; i < 40_000; i++) if (start().isSampled) sampled++

    expect(sampled).toBeGreaterThanOrEqual(min)
    expect(sampled).toBeLessThanOrEqual(max)
  })
})

test('what is not sampled has no object for an attempt, and exports nothing', () => {
  const { start, exported } = at(0)
  const { trace } = start()

  expect(trace.attempt('http://upstream', null)).toBe(null)
  expect(exported).toEqual([])
})

test('ids differ from exchange to exchange, and from attempt to attempt', () => {
  const { start, exported } = at(1)

  for (let i = 0; i < 1000; i++) {
    const { trace } = start()
    for (const status of [503, 200]) trace.attempt('http://upstream:8080', null)?.end(status, null)
  }

  expect(new Set(exported.map(({ traceId }) => traceId)).size).toBe(1000)
  expect(new Set(exported.map(({ spanId }) => spanId)).size).toBe(2000)
})

test.each([
  ['http://upstream', ['upstream', 80, 'http://upstream/valuation/score']],
  ['https://upstream/v1', ['upstream', 443, 'https://upstream/v1/valuation/score']],
  ['http://[::1]:8080', ['::1', 8080, 'http://[::1]:8080/valuation/score']],
  ['sandbox', ['sandbox', undefined, undefined]],
])('an attempt at %s says where it went', (endpoint, expected) => {
  const { start, exported } = at(1)

  start().trace.attempt(endpoint, null)?.end(200, null)

  const names = ['server.address', 'server.port', 'url.full']
  expect(names.map((name) => exported[0]?.attributes[name])).toEqual(expected)
})
