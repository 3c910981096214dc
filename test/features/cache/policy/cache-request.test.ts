import { describe, expect, test } from 'vitest'
import {
  bypassReason,
  parseCacheRequest,
  withoutConditions,
} from '../../../../src/features/cache/policy/cache-request.ts'
import { createRequest, rules } from './helper.ts'

const read = (value: string) => createRequest(['Cache-Control', value])
const infinite = Number.POSITIVE_INFINITY

test('a request without demands is plain', () => {
  expect(createRequest(['Accept', '*/*', 'X-Forwarded-For', '::1'])).toMatchObject({
    isPlain: true,
    noCache: false,
    noStore: false,
    onlyIfCached: false,
    maxAgeMs: null,
    minFreshMs: null,
    maxStaleMs: null,
    staleIfErrorMs: null,
  })
})

test.each([
  ['no-cache', { noCache: true }],
  ['No-Cache=x', { noCache: true }],
  ['no-store', { noStore: true }],
  ['only-if-cached', { onlyIfCached: true }],
  ['max-age=5', { maxAgeMs: 5000 }],
  ['max-age="5"', { maxAgeMs: 5000 }],
  ['max-age=x', { maxAgeMs: 0 }],
  ['max-age=1, max-age=2', { maxAgeMs: 0 }],
  ['min-fresh=5', { minFreshMs: 5000 }],
  ['min-fresh', { minFreshMs: infinite }],
  ['max-stale=5', { maxStaleMs: 5000 }],
  ['max-stale', { maxStaleMs: infinite }],
  ['max-stale=x', { maxStaleMs: null }],
  ['max-stale;x', { maxStaleMs: null }],
  ['max-stale, max-stale=5', { maxStaleMs: null }],
  ['stale-if-error=5', { staleIfErrorMs: 5000 }],
  ['stale-if-error', { staleIfErrorMs: null }],
])('Cache-Control %j demands %j', (value, demands) => {
  expect(read(value)).toMatchObject({ ...demands, isPlain: false })
})

test('Pragma: no-cache counts where there is no Cache-Control', () => {
  expect(createRequest(['Pragma', 'x, No-Cache'])).toMatchObject({ noCache: true, isPlain: false })
  expect(createRequest(['Pragma', 'no-cache', 'Cache-Control', 'max-stale']).noCache).toBe(false)
  expect(createRequest(['Pragma', 'x'])).toMatchObject({ noCache: false, isPlain: true })
})

test('conditions and ranges are read as they came, lines joined', () => {
  const fields = [
    'If-None-Match',
    '"a"',
    'if-none-match',
    '"b"',
    'If-Modified-Since',
    'x',
    'Range',
    'y',
    'If-Range',
    'z',
  ]

  expect(createRequest(fields)).toMatchObject({
    ifNoneMatch: '"a", "b"',
    ifModifiedSince: 'x',
    range: 'y',
    ifRange: 'z',
    isPlain: false,
    hasUpstreamCondition: false,
  })
  expect(withoutConditions([...fields, 'Accept', '*/*'])).toEqual(['Accept', '*/*'])
})

describe('a request bypasses the cache', () => {
  test.each([
    [['Authorization', 'Bearer x'], 'credentials'],
    [['cookie', 'a=b'], 'credentials'],
    [['X-API-Key', 'x'], 'credentials'],
    [['X_Api_Key', 'x'], 'credentials'],
    [['Client-Cert', ':AA==:'], 'credentials'],
    [['If-Match', '"a"'], 'condition'],
    [['If-Unmodified-Since', 'x'], 'condition'],
    [['Cache-Control', 'no-store'], 'no-store'],
    [['Cache-Control', 'no-store, only-if-cached'], null],
    [['X-Api-Keys', 'x'], null],
    [['Accept', 'x'], null],
  ])('for %j: %s', (fields, reason) => {
    expect(bypassReason(createRequest(fields), rules())).toBe(reason)
  })

  test.each([
    [{ hasBody: true, hasCertificate: false }, 'body'],
    [{ hasBody: false, hasCertificate: true }, 'credentials'],
  ])('for %j: %s', (facts, reason) => {
    const request = parseCacheRequest([], { authority: '', ...facts }, rules())

    expect(bypassReason(request, rules())).toBe(reason)
  })

  test('not for credentials, where they are shared', () => {
    const shared = rules({ shared: true })

    expect(bypassReason(createRequest(['Authorization', 'Bearer x', 'Cookie', 'a=b']), shared)).toBeNull()
    expect(bypassReason(createRequest(['If-Match', '*']), shared)).toBe('condition')
  })

  test('for the credentials that are configured', () => {
    const tokens = rules({ credentials: ['x-token'] })

    expect(bypassReason(createRequest(['X-Token', 'x'], tokens), tokens)).toBe('credentials')
    expect(bypassReason(createRequest(['X-Api-Key', 'x'], tokens), tokens)).toBeNull()
  })
})
