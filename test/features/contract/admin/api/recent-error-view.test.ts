import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeUnmatched, toRecentErrorView } from '../../../../../src/core/admin/api/recent-errors.ts'
import type { RecentError } from '../../../../../src/core/log/recent-errors.ts'
import { allOperations } from '../../../../../src/operations.ts'
import { testConfig } from '../../../../helpers/gateway.ts'

const config = testConfig({ operations: { 'inventory.sync': { maxBody: '1KiB' } } })

const reasonOf = (more: Partial<RecentError>, basePath = ''): string =>
  toRecentErrorView(
    {
      at: 0,
      requestId: 'id',
      client: '192.0.2.7',
      clientId: null,
      method: 'GET',
      path: null,
      operation: null,
      endpoint: null,
      side: null,
      fellBack: false,
      status: 404,
      kind: 'not-found',
      reason: null,
      cause: null,
      failedAttempt: null,
      traceId: null,
      ...more,
    },
    { ...config, listen: { ...config.listen, basePath } },
  ).reason

test.each([
  ['GET', 'not-found', 'GET to none of the nine'],
  ['DELETE', 'method-not-allowed', 'DELETE'],
  ['GET', 'expectation-failed', 'GET before it came to any of the nine'],
  ['GET', 'uri-too-long', 'GET before it came to any of the nine'],
  [null, 'bad-request', 'what could not be read'],
] as const)('a %s of no operation, rejected as %s, is told as far as it is known', (method, kind, text) => {
  expect(describeUnmatched({ method, kind })).toBe(text)
})

describe('the reason of an error', () => {
  test('is its bounded word, in words', () => {
    expect(reasonOf({ kind: 'unauthenticated', reason: 'expired' })).toBe('the token has expired')
  })

  test('is that of its kind where there is no other', () => {
    expect(reasonOf({ kind: 'deadline-exceeded' })).toBe('there was no answer within the deadline of the operation')
  })

  test('has the limit that a body is larger than', () => {
    const tooLarge = { kind: 'content-too-large', reason: 'body-too-large-streamed' } as const

    expect(reasonOf({ ...tooLarge, operation: 'inventory.sync' })).toBe(
      'the body, whose length was not said, is larger than maxBody (1KiB)',
    )
  })

  test('of what breaks the contract says where, and no other kind tells its cause', () => {
    const cause = 'body /grade enum: must be one of "A", "B"'

    expect([
      reasonOf({ kind: 'invalid-response', reason: 'contract-answer-body', cause }),
      reasonOf({ kind: 'invalid-request', reason: 'contract-body', cause }),
      reasonOf({ kind: 'unsupported-media-type', cause }),
      reasonOf({ kind: 'bad-answer', cause }),
    ]).toEqual([
      expect.stringMatching(/: body \/grade enum: must be one of "A", "B"$/),
      `the body breaks the contract: ${cause}`,
      expect.stringMatching(/: body \/grade enum: must be one of "A", "B"$/),
      expect.not.stringContaining('/grade'),
    ])
  })

  test.each([
    ['/market/insights/', 'a slash is at its end; probably meant: GET /market/insights'],
    ['/Market/insights', 'upper case: … is written /market/insights; probably meant: GET /market/insights'],
    [
      '/api/market/insights',
      '… stands in front of it, and nothing should: listen.basePath; probably meant: GET /market/insights',
    ],
    [
      '/market/insight',
      'it is none of the nine; the nearest is /market/insights; probably meant: GET /market/insights',
    ],
    ['/wp-login.php', 'it is none of the nine'],
  ])('of %s says how it differs from the catalog', (path, reason) => {
    expect(reasonOf({ path })).toBe(reason)
  })

  test('of another method names that which is meant', () => {
    const wrong = { path: '/api/market/insights', kind: 'method-not-allowed', method: 'DELETE' } as const

    expect(reasonOf(wrong, '/api')).toBe('/market/insights takes GET, not DELETE')
  })

  test('holds nothing that a client wrote, whatever stands in the path', () => {
    const secret = 'S3CR3T-9f8e7d'
    const near = fc.constantFrom(...allOperations.map(({ path }) => path), ...'/ // /%2e%2e/ ? ; & \\ %3f'.split(' '))
    const paths = fc.array(fc.oneof(near, fc.constant(secret)), { minLength: 1, maxLength: 6 })

    fc.assert(
      fc.property(paths, fc.constantFrom('', '/api'), (parts, basePath) => {
        expect(reasonOf({ path: parts.join('') }, basePath).toLowerCase()).not.toContain(secret.toLowerCase())
      }),
      { numRuns: 200 },
    )
  })
})
