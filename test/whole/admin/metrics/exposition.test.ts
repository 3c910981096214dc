import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type MetricFamily, type MetricSample, renderExposition } from '../../../../src/core/admin/metrics/metric.ts'
import { readExposition } from '../../../core/admin/metrics/parse-exposition.ts'
import { anyCharacter } from '../../../helpers/any-character.ts'

const gauge = (samples: readonly MetricSample[], help = 'Says something.'): MetricFamily => ({
  name: 'lender_gateway_thing',
  help,
  type: 'gauge',
  samples,
})

test('a family is its help, its type and a line for each series', () => {
  const first = { labels: { operation: 'market.insights', state: 'up' }, value: 1 }

  expect(
    renderExposition([gauge([first, { labels: {}, value: 0.25 }])]),
  ).toBe(`# HELP lender_gateway_thing Says something.
# TYPE lender_gateway_thing gauge
lender_gateway_thing{operation="market.insights",state="up"} 1
lender_gateway_thing 0.25
`)
})

test('a histogram is its buckets with +Inf, its sum and its count', () => {
  const [low, high] = [{ le: 0.001, count: 1 } as const, { le: 2.5, count: 3 } as const]
  const samples = [{ labels: { a: 'b' }, value: { buckets: [low, high], sum: 12.5, count: 4 } }]

  expect(renderExposition([{ name: 'd_seconds', help: 'h', type: 'histogram', samples }])).toBe(`# HELP d_seconds h
# TYPE d_seconds histogram
d_seconds_bucket{a="b",le="0.001"} 1
d_seconds_bucket{a="b",le="2.5"} 3
d_seconds_bucket{a="b",le="+Inf"} 4
d_seconds_sum{a="b"} 12.5
d_seconds_count{a="b"} 4
`)
})

test('a family that has no sample is left out', () => {
  expect(renderExposition([gauge([])])).toBe('')
})

test.each([
  ['a quote', '"', '\\"'],
  ['a backslash', '\\', '\\\\'],
  ['a line feed', '\n', '\\n'],
  ['a carriage return', '\r', '\r'],
  ['what looks like an escape', '\\n', '\\\\n'],
  ['half of a surrogate pair', '\ud83d', '\ufffd'],
])('%s in a value is written so that nothing ends early', (_, value, written) => {
  expect(renderExposition([gauge([{ labels: { a: value }, value: 1 }])])).toContain(`{a="${written}"} 1\n`)
})

test.each([
  [Number.POSITIVE_INFINITY, '+Inf'],
  [Number.NEGATIVE_INFINITY, '-Inf'],
  [Number.NaN, 'NaN'],
  [1e21, '1e+21'],
  [5e-324, '5e-324'],
  [-0, '0'],
])('%d is written as %s', (value, written) => {
  expect(renderExposition([gauge([{ labels: {}, value }])])).toContain(`lender_gateway_thing ${written}\n`)
})

const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,12}$/)
const labels = fc.dictionary(name, fc.string({ unit: anyCharacter }), { maxKeys: 3 })
// Zero has one sign there.
const value = fc.double().map((each) => (Object.is(each, -0) ? 0 : each))

test('whatever is written is read back as it was', () => {
  const family = fc.record({
    ...{ name, help: fc.string({ unit: anyCharacter }) },
    type: fc.constantFrom('counter' as const, 'gauge' as const),
    samples: fc.array(fc.record({ labels, value }), { minLength: 1, maxLength: 4 }),
  })
  fc.assert(
    fc.property(fc.uniqueArray(family, { selector: (each) => each.name, maxLength: 4 }), (families) => {
      const wellFormed = (labels: Readonly<Record<string, string>>) =>
        Object.fromEntries(Object.entries(labels).map(([label, is]) => [label, is.toWellFormed()]))

      expect([...readExposition(renderExposition(families))]).toEqual(
        families.map(({ name, help, type, samples }) => {
          const lines = samples.map((sample) => ({ ...sample, name, labels: wellFormed(sample.labels) }))
          return [name, { help: help.toWellFormed(), type, lines }]
        }),
      )
    }),
  )
})
