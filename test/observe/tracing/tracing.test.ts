import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadSdk } from '../../../src/observe/tracing/sdk.ts'
import type { FinishedSpan, OtlpSpanExporter } from '../../../src/observe/tracing/span-exporter.ts'
import { createTracing, SampledTrace } from '../../../src/observe/tracing/tracing.ts'
import { allOperations } from '../../../src/operations.ts'

beforeAll(() => loadSdk())

const site = { scheme: 'http', address: null, port: 0 } as const
const [operation] = allOperations

/** Begins exchanges at a gateway that samples a share, and keeps what it tells. */
const at = (sample: number) => {
  const told: FinishedSpan[] = []
  const exporting = { enqueue: (span: FinishedSpan) => told.push(span) } as unknown as OtlpSpanExporter
  const tracing = createTracing(exporting, sample, site)
  return {
    told,
    begin(fields: readonly string[] = []) {
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

describe('whether a trace is told of', () => {
  test('is decided by its parent, for every trace and whatever the share', () => {
    const gateways = [at(0), at(0.01), at(1)]

    fc.assert(
      fc.property(parent, ({ traceId, spanId, flags }) => {
        const said = ['traceparent', `00-${traceId}-${spanId}-${flags}`]
        const isWanted = Number.parseInt(flags, 16) % 2 === 1
        for (const { begin } of gateways) {
          const { trace, isSampled, fields } = begin(said)
          expect([trace.traceId, isSampled]).toEqual([traceId, isWanted])
          expect(fields).toEqual(isWanted ? [] : said)
        }
      }),
    )
  })

  // Of 40,000 at 5 % 2,000 are expected, with a standard deviation of 44: one such run in 10^12 is seven of them off.
  test.each([
    [0, 0, 0],
    [0.05, 1700, 2300],
    [1, 40_000, 40_000],
  ])('where it begins here is a matter of the share: %f', (share, least, most) => {
    const { begin } = at(share)
    let sampled = 0

    for (let i = 0; i < 40_000; i++) if (begin().isSampled) sampled++

    expect(sampled).toBeGreaterThanOrEqual(least)
    expect(sampled).toBeLessThanOrEqual(most)
  })
})

test('what is not sampled has no object for an attempt, and tells nothing', () => {
  const { begin, told } = at(0)
  const { trace } = begin()

  expect(trace.attempt('http://upstream')).toBe(null)
  expect(told).toEqual([])
})

test('ids differ from exchange to exchange, and from attempt to attempt', () => {
  const { begin, told } = at(1)

  for (let i = 0; i < 1000; i++) {
    const { trace } = begin()
    for (const status of [503, 200]) trace.attempt('http://upstream:8080')?.end(status, null)
  }

  expect(new Set(told.map(({ traceId }) => traceId)).size).toBe(1000)
  expect(new Set(told.map(({ spanId }) => spanId)).size).toBe(2000)
})

test.each([
  ['http://upstream', ['upstream', 80, 'http://upstream/valuation/score']],
  ['https://upstream/v1', ['upstream', 443, 'https://upstream/v1/valuation/score']],
  ['http://[::1]:8080', ['::1', 8080, 'http://[::1]:8080/valuation/score']],
  ['sandbox', ['sandbox', undefined, undefined]],
])('an attempt at %s says where it went', (endpoint, said) => {
  const { begin, told } = at(1)

  begin().trace.attempt(endpoint)?.end(200, null)

  const names = ['server.address', 'server.port', 'url.full']
  expect(names.map((name) => told[0]?.attributes[name])).toEqual(said)
})
