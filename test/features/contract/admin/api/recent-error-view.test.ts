import fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeUnmatched, toRecentErrorView } from '../../../../../src/core/admin/api/recent-errors.ts'
import type { RecentError } from '../../../../../src/core/log/recent-errors.ts'
import { allOperations } from '../../../../../src/operations.ts'
import { testConfig } from '../../../../helpers/gateway.ts'

const config = testConfig({ operations: { 'inventory.sync': { maxBody: '1KiB' } } })

const unmatched: RecentError = {
  ...{ at: 0, requestId: 'id', client: '192.0.2.7', clientId: null, method: 'GET', path: null, operation: null },
  ...{ endpoint: null, side: null, fellBack: false, status: 404, kind: 'not-found', reason: null, cause: null },
  ...{ failedAttempt: null, traceId: null },
}
const reasonOf = (more: Partial<RecentError>, basePath = ''): string =>
  toRecentErrorView({ ...unmatched, ...more }, { ...config, listen: { ...config.listen, basePath } }).reason

test.each([
  ['GET', 'not-found', 'GET to none of the nine'],
  ['DELETE', 'method-not-allowed', 'DELETE'],
  ['GET', 'expectation-failed', 'GET before it came to any of the nine'],
  ['GET', 'uri-too-long', 'GET before it came to any of the nine'],
  [null, 'bad-request', 'an unreadable request'],
] as const)('a %s of no operation, rejected as %s, is told as far as it is known', (method, kind, text) => {
  expect(describeUnmatched({ method, kind })).toBe(text)
})

const cause = 'body /grade enum: must be one of "A", "B"'
const ofBody = { kind: 'invalid-request', reason: 'contract-body', cause } as const
const ofResponse = { kind: 'invalid-response', reason: 'contract-response-body', cause } as const
const [another, near] = ['… stands in front of it, and nothing should', 'it is none of the nine paths; the nearest is']
const meant = 'probably meant: GET /market/insights'

test.each<[string, Partial<RecentError>, string | RegExp]>([
  ['is its bounded word, in words', { kind: 'unauthenticated', reason: 'expired' }, 'the token has expired'],
  [
    'is that of its kind where there is no other',
    { kind: 'deadline-exceeded' },
    'there was no response within the deadline of the operation',
  ],
  [
    'has the limit that a body is larger than',
    { kind: 'content-too-large', reason: 'body-too-large-streamed', operation: 'inventory.sync' },
    'the body, sent without Content-Length, is larger than maxBody (1KiB)',
  ],
  ['of what breaks the contract says where', ofBody, `the body breaks the contract: ${cause}`],
  ['of a response that breaks it says where', ofResponse, /: body \/grade enum: must be one of "A", "B"$/],
  ['of a type that it has not says where', { kind: 'unsupported-media-type', cause }, /: body \/grade enum: must be/],
  ['of another kind does not tell its cause', { kind: 'bad-response', cause }, /^(?!.*\/grade)/],
  ['of a slash too many says so', { path: '/market/insights/' }, `it ends with a slash; ${meant}`],
  ['of another case says so', { path: '/Market/insights' }, `upper case: … is written /market/insights; ${meant}`],
  ['of another base path says so', { path: '/api/market/insights' }, `${another}: listen.basePath; ${meant}`],
  ['of a path that is near says which', { path: '/market/insight' }, `${near} /market/insights; ${meant}`],
  ['of a path that is far says no other', { path: '/wp-login.php' }, 'it is none of the nine paths'],
])('the reason of an error %s', (_, error, expected) => {
  expect(reasonOf(error)).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected))
})

test('the reason of a 405 names the method that is meant', () => {
  const wrong = { path: '/api/market/insights', kind: 'method-not-allowed', method: 'DELETE' } as const

  expect(reasonOf(wrong, '/api')).toBe('/market/insights takes GET, not DELETE')
})

test('the reason of an error holds no text of a client, whatever the path is', () => {
  const secret = 'S3CR3T-9f8e7d'
  const near = [...allOperations.map(({ path }) => path), ...'/ // /%2e%2e/ ? ; & \\ %3f'.split(' '), secret, secret]

  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...near), { minLength: 1, maxLength: 6 }),
      fc.constantFrom('', '/api'),
      (parts, basePath) => {
        expect(reasonOf({ path: parts.join('') }, basePath).toLowerCase()).not.toContain(secret.toLowerCase())
      },
    ),
    { numRuns: 200 },
  )
})
