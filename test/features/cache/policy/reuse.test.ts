import { parseList } from 'structured-headers'
import { describe, expect, test } from 'vitest'
import {
  decideReuse,
  forwardedStatus,
  hitStatus,
  mayServeStale,
  notCachedStatus,
} from '../../../../src/features/cache/policy/reuse.ts'
import { applyToKeys } from '../../../helpers/table.ts'
import { at, createRequest, createStoredHead, noon, rules } from './helper.ts'

const cc = (value: string): string[] => ['Cache-Control', value]
const stored = (value: string, given = {}) => createStoredHead([...cc(value), 'ETag', '"a"'], given)
const past = (seconds: number): number => noon + seconds * 1000

const fresh = { kind: 'fresh' }
const stale = { kind: 'stale', revalidate: false }
const revalidated = { kind: 'stale', revalidate: true }
const fetchRequested = { kind: 'fetch', why: 'request' }
const expired = { kind: 'fetch', why: 'stale' }
const notCached = { kind: 'not-cached' }

test.each<[string, string, Record<string, object>]>([
  // Fresh, and the request has no demands (RFC 9111 §4.2).
  ['max-age=10', '', { 0: fresh, 9.999: fresh, 10: expired }],
  ['max-age=10, must-revalidate', '', { 9: fresh }],
  ['max-age=10, no-cache', '', { 0: expired }],
  // §5.2.1.4
  ['max-age=10', 'no-cache', { 5: fetchRequested, 15: expired }],
  // §5.2.1.1
  ['max-age=10', 'max-age=5', { 5: fresh, 5.001: fetchRequested }],
  ['max-age=10', 'max-age=0', { 1: fetchRequested }],
  ['max-age=10', 'max-age=50', { 15: expired }],
  ['max-age=10', 'max-age=5, max-stale=5', { 7: fetchRequested }],
  // §5.2.1.3
  ['max-age=10', 'min-fresh=5', { 5: fresh, 6: fetchRequested }],
  ['max-age=10', 'min-fresh=5, max-stale', { 11: expired }],
  // §5.2.1.2
  ['max-age=10', 'max-stale', { 1e6: stale }],
  ['max-age=10', 'max-stale=5', { 15: stale, 16: expired }],
  ['max-age=10', 'max-stale=5, max-age=20', { 14: stale }],
  ['max-age=10, must-revalidate', 'max-stale', { 11: expired }],
  ['max-age=10, proxy-revalidate', 'max-stale', { 11: expired }],
  ['s-maxage=10', 'max-stale', { 11: expired }],
  ['max-age=10, no-cache', 'max-stale', { 5: expired }],
  // §5.2.1.7
  ['max-age=10', 'only-if-cached', { 5: fresh, 11: notCached }],
  ['max-age=10', 'only-if-cached, max-stale', { 11: stale }],
  ['max-age=10', 'only-if-cached, no-cache', { 5: notCached }],
  ['max-age=10, no-cache', 'only-if-cached', { 5: notCached }],
  // RFC 5861 §3
  ['max-age=10, stale-while-revalidate=5', '', { 9: fresh, 14.999: revalidated, 15: expired }],
  ['max-age=10, stale-while-revalidate=5', 'max-age=60', { 12: expired }],
  ['max-age=10, stale-while-revalidate=5', 'max-stale', { 12: revalidated, 16: stale }],
  ['max-age=10, stale-while-revalidate=5', 'max-stale=1', { 12: expired }],
  ['max-age=10, stale-while-revalidate=5', 'no-store, only-if-cached', { 12: stale }],
  ['max-age=10, stale-while-revalidate=5', 'min-fresh=0', { 12: expired }],
  ['max-age=10, stale-while-revalidate=5, must-revalidate', '', { 12: expired }],
  ['s-maxage=10, stale-while-revalidate=5', '', { 10: expired }],
])('%s, requested with %j, by seconds: %j', (value, request, verdicts) => {
  const [head, asked] = [stored(value), createRequest(request === '' ? [] : cc(request))]

  expect(applyToKeys(verdicts, (seconds) => decideReuse(head, asked, past(+seconds)))).toEqual(verdicts)
})

test('a response that was old when it came is stale sooner', () => {
  const old = createStoredHead([...cc('max-age=10'), 'Age', '8'])

  expect(decideReuse(old, createRequest(), past(1))).toEqual(fresh)
  expect(decideReuse(old, createRequest(), past(2))).toEqual(expired)
})

test('a guessed lifetime is not for a request with credentials', () => {
  const guessed = createStoredHead(['Last-Modified', at(-1000)], { heuristic: true })

  expect(decideReuse(guessed, createRequest(['Cookie', 'a=b']), noon)).toEqual(fetchRequested)
  expect(decideReuse(guessed, createRequest(['Authorization', 'x']), noon)).toEqual(fresh)
})

test('a clock that is set back makes no response younger than new', () => {
  expect(decideReuse(stored('max-age=10'), createRequest(cc('max-age=0')), past(-100))).toEqual(fresh)
  expect(decideReuse(stored('no-cache'), createRequest(), past(-100))).toEqual(expired)
})

describe('in trouble', () => {
  test.each<[string, string, 'error' | 'disconnected', Record<string, boolean>]>([
    // RFC 5861 §4, from the response
    ['max-age=10, stale-if-error=20', '', 'error', { 29: true, 30: false }],
    ['max-age=10, stale-if-error=20', '', 'disconnected', { 29: true }],
    ['max-age=10', '', 'error', { 11: false }],
    // RFC 9111 §4.2.4: 60 s
    ['max-age=10', '', 'disconnected', { 69: true, 70: false }],
    ['max-age=10, stale-if-error=0', '', 'error', { 11: false }],
    // never
    ['max-age=10, stale-if-error=20, must-revalidate', '', 'error', { 11: false }],
    ['max-age=10, must-revalidate', '', 'disconnected', { 11: false }],
    ['max-age=10, proxy-revalidate', '', 'disconnected', { 11: false }],
    ['s-maxage=10', '', 'disconnected', { 11: false }],
    ['max-age=10, no-cache', '', 'disconnected', { 5: false }],
    // the client's directives
    ['max-age=10, stale-if-error=20', 'no-cache', 'error', { 11: false }],
    ['max-age=10, stale-if-error=20', 'max-age=60', 'error', { 11: false }],
    ['max-age=10, stale-if-error=20', 'min-fresh=1', 'error', { 11: false }],
    ['max-age=10, stale-if-error=20', 'max-stale=1', 'error', { 11: true, 12: false }],
    ['max-age=10', 'stale-if-error=5', 'error', { 15: true, 16: false }],
    ['max-age=10', 'stale-if-error=5, no-cache', 'error', { 12: true }],
    ['max-age=10, must-revalidate', 'stale-if-error=5', 'error', { 12: false }],
  ])('%s, requested with %j, %s, is served by seconds: %j', (value, request, trouble, served) => {
    const [head, asked] = [stored(value), createRequest(request === '' ? [] : cc(request))]

    expect(applyToKeys(served, (seconds) => mayServeStale(head, asked, trouble, past(+seconds)))).toEqual(served)
  })

  test('the configuration decides where the response does not', () => {
    const given = rules({ staleIfError: 5000, staleWhenDisconnected: 0 })
    const isServed = (trouble: 'error' | 'disconnected', seconds: number, value = 'max-age=10') =>
      mayServeStale(stored(value, given), createRequest(), trouble, past(seconds))

    expect([isServed('error', 14), isServed('error', 15), isServed('disconnected', 15)]).toEqual([true, false, false])
    expect(isServed('error', 12, 'max-age=10, stale-if-error=1')).toBe(false)
  })
})

test.each([
  [30_999, 'lender-gateway;hit;ttl=30'],
  [0, 'lender-gateway;hit;ttl=0'],
  [-1, 'lender-gateway;hit;ttl=-1'],
  [2 ** 60, 'lender-gateway;hit;ttl=999999999999999'],
])('a hit with %d ms to live is %s', (ttlMs, value) => {
  expect(hitStatus(ttlMs)).toBe(value)
  expect(parseList(hitStatus(ttlMs))).toHaveLength(1)
})

const none = { status: null, stored: false, collapsed: false, ttlMs: null, detail: null }

test.each([
  [{ why: 'uri-miss' }, 'fwd=uri-miss'],
  [{ why: 'uri-miss', stored: true, ttlMs: 5000 }, 'fwd=uri-miss;stored;ttl=5'],
  [{ why: 'vary-miss', collapsed: true }, 'fwd=vary-miss;collapsed'],
  [{ why: 'stale', status: 304, stored: true }, 'fwd=stale;fwd-status=304;stored'],
  [{ why: 'stale', status: 503, ttlMs: -2500 }, 'fwd=stale;fwd-status=503;ttl=-3'],
  [{ why: 'bypass' }, 'fwd=bypass'],
  [{ why: 'uri-miss', detail: 'no-store' }, 'fwd=uri-miss;detail=no-store'],
] as const)('%j is written as %s', (forwarded, value) => {
  const written = forwardedStatus({ ...none, ...forwarded })

  expect([written, parseList(written).length]).toEqual([`lender-gateway;${value}`, 1])
})

test('a rejection is neither', () => {
  expect(notCachedStatus).toBe('lender-gateway')
})
