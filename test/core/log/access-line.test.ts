import fc from 'fast-check'
import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { getClientAddress } from '../../../src/core/downstream/request/forwarded.ts'
import { isValidRequestId } from '../../../src/core/downstream/request/request-head.ts'
import { FailedAttempt, GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { cidrMatcher } from '../../../src/core/lib/net/addresses.ts'
import { logAccess } from '../../../src/core/log/access-log.ts'
import { exchangeRecord } from './exchange-record.ts'

const peer = { address: '10.0.0.1', trusted: true, secure: false, inFlight: 1, certificate: () => null }
const isTrusted = cidrMatcher(['10.0.0.0/8'])

// What a client can put into a line: an id that is kept, and an address behind a trusted proxy. Quotes and backslashes
// above all.
const hostile = fc.string({
  unit: fc.constantFrom('"', '\\', '\n', '%', ':', '.', 'f', 'e', '8', '0', '1', '[', ']', ' ', '}'),
})
const id = fc.oneof(hostile, fc.string()).filter(isValidRequestId)
const forwardedFor = fc.oneof(
  hostile,
  fc.ipV4(),
  fc.ipV6(),
  fc.tuple(fc.ipV6(), hostile).map(([ip, zone]) => `${ip}%${zone}`),
)

test('the line of an exchange is JSON, whatever a client sends', () => {
  fc.assert(
    fc.property(id, forwardedFor, fc.float({ noNaN: true, min: 0, max: 1e6 }), (requestId, forwarded, totalMs) => {
      const lines: string[] = []
      const client = getClientAddress(peer, forwarded, isTrusted)

      const record = exchangeRecord({ requestId, client, totalMs, upstreamMs: totalMs / 2 })
      logAccess(pino({ base: null }, { write: (line: string) => lines.push(line) }), record)

      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { requestId, client, upstreamMs: expect.any(Number) },
      ])
      expect(Math.abs(JSON.parse(lines[0] ?? '').gatewayMs - totalMs / 2)).toBeLessThanOrEqual(0.0501)
    }),
    { numRuns: 2000 },
  )
})

describe('attempts that failed', () => {
  const connectFailed = new GatewayError('connect-failed', {
    reason: 'refused',
    cause: new Error('connect ECONNREFUSED "127.0.0.1:1"'),
  })
  const attempt = (errorOrStatus: GatewayError | number, endpoint = 'http://market-a:8080') =>
    new FailedAttempt(endpoint, errorOrStatus, 0)
  const lineOf = (more: Parameters<typeof exchangeRecord>[0]): { readonly failedAttempts?: unknown } => {
    const lines: string[] = []
    logAccess(pino({ base: null }, { write: (line: string) => lines.push(line) }), exchangeRecord(more))
    return JSON.parse(lines[0] ?? '')
  }
  const loggedAttempt = {
    endpoint: 'http://market-a:8080',
    failure: 'connect-failed',
    reason: 'refused',
    cause: 'connect ECONNREFUSED "127.0.0.1:1"',
  }

  test('before the response stand in its line, each as it was', () => {
    const failedAttempts = [attempt(connectFailed), attempt(503, 'http://market-b:8080')]

    expect(lineOf({ attempts: 3, failedAttempts })).toMatchObject({
      status: 200,
      failedAttempts: [loggedAttempt, { endpoint: 'http://market-b:8080', status: 503 }],
    })
  })

  test('before the failure of the exchange stand beside it, which is not logged twice', () => {
    const failure = new GatewayError('headers-timeout')

    expect(
      lineOf({ attempts: 2, status: 504, failure, failedAttempts: [attempt(connectFailed), attempt(failure)] }),
    ).toMatchObject({ failure: 'headers-timeout', failedAttempts: [loggedAttempt] })
  })

  test('are not there when there is but the one whose result the client got', () => {
    expect(
      lineOf({ status: 502, failure: connectFailed, failedAttempts: [attempt(connectFailed)] }),
    ).not.toHaveProperty('failedAttempts')
    expect(lineOf({ status: 503, failedAttempts: [attempt(503)] })).not.toHaveProperty('failedAttempts')
  })

  test('are eight at most', () => {
    const failedAttempts = Array.from({ length: 300 }, () => attempt(connectFailed))

    expect(lineOf({ attempts: 301, failedAttempts }).failedAttempts).toHaveLength(8)
  })
})
