import { describe, expect, test } from 'vitest'
import {
  bypassReason,
  parseCacheRequest,
  withoutConditions,
} from '../../../../src/features/cache/policy/cache-request.ts'
import { createRequest, rules } from './helper.ts'

const infinite = Number.POSITIVE_INFINITY

test('a request without demands is plain', () => {
  const none = { maxAgeMs: null, minFreshMs: null, maxStaleMs: null, staleIfErrorMs: null }

  expect(createRequest(['Accept', '*/*', 'X-Forwarded-For', '::1'])).toMatchObject({
    ...{ isPlain: true, noCache: false, noStore: false, onlyIfCached: false, ...none },
  })
})

test.each([
  [{ noCache: true }, ['no-cache', 'No-Cache=x']],
  [{ noStore: true }, ['no-store']],
  [{ onlyIfCached: true }, ['only-if-cached']],
  [{ maxAgeMs: 5000 }, ['max-age=5', 'max-age="5"']],
  [{ maxAgeMs: 0 }, ['max-age=x', 'max-age=1, max-age=2']],
  [{ minFreshMs: 5000 }, ['min-fresh=5']],
  [{ minFreshMs: infinite }, ['min-fresh']],
  [{ maxStaleMs: 5000 }, ['max-stale=5']],
  [{ maxStaleMs: infinite }, ['max-stale']],
  [{ maxStaleMs: null }, ['max-stale=x', 'max-stale;x', 'max-stale, max-stale=5']],
  [{ staleIfErrorMs: 5000 }, ['stale-if-error=5']],
  [{ staleIfErrorMs: null }, ['stale-if-error']],
])('%j is demanded by Cache-Control %j', (demands, values) => {
  for (const value of values)
    expect({ value, ...createRequest(['Cache-Control', value]) }).toMatchObject({ value, ...demands, isPlain: false })
})

test('Pragma: no-cache counts where there is no Cache-Control', () => {
  expect(createRequest(['Pragma', 'x, No-Cache'])).toMatchObject({ noCache: true, isPlain: false })
  expect(createRequest(['Pragma', 'no-cache', 'Cache-Control', 'max-stale']).noCache).toBe(false)
  expect(createRequest(['Pragma', 'x'])).toMatchObject({ noCache: false, isPlain: true })
})

test('conditions and ranges are read as they came, lines joined', () => {
  const conditions = ['If-None-Match', '"a"', 'if-none-match', '"b"', 'If-Modified-Since', 'x']
  const fields = [...conditions, 'Range', 'y', 'If-Range', 'z']
  const read = { ifNoneMatch: '"a", "b"', ifModifiedSince: 'x', range: 'y', ifRange: 'z' }

  expect(createRequest(fields)).toMatchObject({ ...read, isPlain: false, hasUpstreamCondition: false })
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
    expect(bypassReason(parseCacheRequest([], { authority: '', ...facts }, rules()), rules())).toBe(reason)
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
