/** What is certain of a request that failed. */
import { expect, test } from 'vitest'
import { FailedAttempt, GatewayError, overloadedError } from '../../../src/failures/errors.ts'
import { wasNeverSent } from '../../../src/shared/exchange/never-sent.ts'
import { fakeExchange } from '../../helpers/exchange.ts'

const connectFailed = (): GatewayError => new GatewayError('connect-failed')

const failed = (kind: 'connect-failed' | 'reset-before-headers'): FailedAttempt =>
  new FailedAttempt('http://a', new GatewayError(kind), 0)

test.each([
  ['it found no place at the endpoint', 1, [], overloadedError('endpoint-connections'), true],
  ['there is no room to check its response', 1, [], overloadedError('buffered-bodies'), false],
  ['its circuit breaker is open', 0, [], new GatewayError('circuit-open'), true],
  ['it was not connected twice', 2, [failed('connect-failed'), failed('connect-failed')], connectFailed(), true],
  [
    'it was connected, and then not',
    2,
    [failed('reset-before-headers'), failed('connect-failed')],
    connectFailed(),
    false,
  ],
  ['its response breaks the contract', 1, [], new GatewayError('invalid-response'), false],
])('a request that failed since %s: whether nothing of it was sent', (_, attempts, failedAttempts, error, expected) => {
  const exchange = Object.assign(fakeExchange(), { attempts, failedAttempts })

  expect(wasNeverSent(exchange, error)).toBe(expected)
})
