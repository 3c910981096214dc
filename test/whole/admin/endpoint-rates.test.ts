import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { StatusReport } from '../../../src/core/runtime/status/status-part.ts'
import { createEndpointRates, type EndpointRates } from '../../../src/features/overview/rate-history.ts'
import { byGroup } from '../../../src/operations.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Counts = readonly (readonly [url: string, requests: number, failures: number])[]

const endpoints = (counts: Counts) =>
  counts.map(([url, requests, failures]) => ({ url, requests, failures, ejections: 0 }))

/** Reports what risk has counted, and its candidate. */
const upstreams = (primary: Counts, candidate: Counts | null = null): StatusReport['upstreams'] =>
  byGroup((group) => ({
    endpoints: group === 'risk' ? endpoints(primary) : [],
    candidate: group === 'risk' && candidate !== null ? { endpoints: endpoints(candidate) } : null,
  })) as unknown as StatusReport['upstreams']

const summarize = (rates: ReturnType<EndpointRates['rates']>) =>
  rates.map(({ side, url, perSecond, errorsPerSecond, share }) => [side, url, perSecond, errorsPerSecond, share])

test('rates are those of the last ten seconds, and shares those of a side', () => {
  const rates = createEndpointRates()

  const at = (a: number, failures: number, b: number, candidate: number, failed: number) => {
    const primary = [['a', a, failures] as const, ['b', b, 0] as const]
    return upstreams(primary, [['a', candidate, failed]])
  }
  for (const count of [0, 1000, 1010, 1030]) {
    rates.sample(at(count, 0, 0, 5, 5))
    vi.advanceTimersByTime(5000)
  }

  const now = at(1070, 6, 20, 25, 15)
  expect(summarize(rates.rates(now))).toEqual([
    ['primary', 'a', 6, 0.6, 0.75],
    ['primary', 'b', 2, 0, 0.25],
    ['candidate', 'a', 2, 1, 1],
  ])
})

test('nothing is known before the first sample, nor of an endpoint that was opened since', () => {
  const rates = createEndpointRates()

  expect(rates.rates(upstreams([['a', 5, 0]]))).toEqual([])
  rates.sample(upstreams([['a', 5, 0]]))
  vi.advanceTimersByTime(1000)
  const now = upstreams([['a', 5, 0] as const, ['b', 9, 9] as const])
  expect(summarize(rates.rates(now))).toEqual([['primary', 'a', 0, 0, null]])
})

test('an endpoint that counts from 0 again has no rate below 0', () => {
  const rates = createEndpointRates()
  rates.sample(upstreams([['a', 500, 500]]))
  vi.advanceTimersByTime(5000)

  expect(summarize(rates.rates(upstreams([['a', 5, 1]])))).toEqual([['primary', 'a', 0, 0, null]])
})
