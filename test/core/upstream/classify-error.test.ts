import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import {
  classifyError,
  describeUpstreamError,
  MalformedResponseError,
  toGatewayError,
} from '../../../src/core/upstream/classify-error.ts'

const coded = (code: string, message = 'x'): Error => Object.assign(new Error(message), { code })

describe('why an endpoint could not be reached', () => {
  test.each([
    ['ECONNREFUSED', 'refused'],
    ['ECONNRESET', 'reset'],
    ['EPIPE', 'closed'],
    ['ENOTFOUND', 'name-not-found'],
    ['EAI_AGAIN', 'name-server-silent'],
    ['CERT_HAS_EXPIRED', 'certificate-expired'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate-name'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate-untrusted'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'no-tls'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'tls-version'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'asks-for-certificate'],
    ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', 'rejects-certificate'],
    ['ERR_SSL_SSL/TLS_ALERT_UNKNOWN_CA', 'rejects-certificate'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'tls-handshake'],
    ['EMFILE', 'no-descriptors'],
  ])('%s is %s', (code, reason) => {
    expect(classifyError(coded(code))).toBe(reason)
  })

  test('is never taken from the message of an error', () => {
    expect(classifyError(coded('MADE_UP', 'refused'))).toBeNull()
    expect(classifyError('refused')).toBeNull()
    expect(classifyError(new Error('refused'))).toBeNull()
  })

  test('of several addresses is that of the first, and rather a refused connection than a missing route', () => {
    const both = (...codes: string[]) => new AggregateError(codes.map((code) => coded(code)))

    expect(classifyError(both('ECONNREFUSED', 'ETIMEDOUT'))).toBe('refused')
    expect(classifyError(both('ENETUNREACH', 'ECONNREFUSED'))).toBe('refused')
    expect(classifyError(both('ENETUNREACH', 'ENETUNREACH'))).toBe('unreachable')
  })

  test.each([
    ['unsent', 'connect-failed'],
    ['sent', 'bad-response'],
    ['responded', 'truncated'],
  ] as const)('is what was wrong with a response, however far its request had come: %s', (at, kind) => {
    const failure = toGatewayError(new MalformedResponseError('response-length', 'too short'), at)

    expect(failure).toMatchObject({ kind, reason: 'response-length' })
  })
})

test('an operator reads what the reason says everywhere, with its code, and else what the system says', () => {
  const refused = coded('ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.1:80')
  const other = coded('MADE_UP', 'made up')
  const known = [
    ...[refused, new GatewayError('connect-failed', { reason: 'refused', cause: refused })],
    new GatewayError('connect-failed', { reason: 'refused' }),
  ]
  const unknown = [
    new GatewayError('connect-failed', { reason: 'other-connect-failure', cause: other }),
    new AggregateError([other, other]),
  ]

  expect(new Set(known.map(describeUpstreamError))).toEqual(
    new Set(['the endpoint refuses connections (ECONNREFUSED)']),
  )
  expect(unknown.map(describeUpstreamError)).toEqual(['made up', 'made up'])
})
