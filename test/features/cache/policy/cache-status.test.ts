import { parseList } from 'structured-headers'
import { expect, test } from 'vitest'
import { forwardedStatus, hitStatus, notCachedStatus } from '../../../../src/features/cache/policy/reuse.ts'

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
  [{ ...none, why: 'uri-miss' }, 'lender-gateway;fwd=uri-miss'],
  [{ ...none, why: 'uri-miss', stored: true, ttlMs: 5000 }, 'lender-gateway;fwd=uri-miss;stored;ttl=5'],
  [{ ...none, why: 'vary-miss', collapsed: true }, 'lender-gateway;fwd=vary-miss;collapsed'],
  [{ ...none, why: 'stale', status: 304, stored: true }, 'lender-gateway;fwd=stale;fwd-status=304;stored'],
  [{ ...none, why: 'stale', status: 503, ttlMs: -2500 }, 'lender-gateway;fwd=stale;fwd-status=503;ttl=-3'],
  [{ ...none, why: 'bypass' }, 'lender-gateway;fwd=bypass'],
  [{ ...none, why: 'uri-miss', detail: 'no-store' }, 'lender-gateway;fwd=uri-miss;detail=no-store'],
] as const)('%j is written as %s', (forwarded, value) => {
  expect(forwardedStatus(forwarded)).toBe(value)
  expect(parseList(value)).toHaveLength(1)
})

test('a rejection is neither', () => {
  expect(notCachedStatus).toBe('lender-gateway')
})
