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
    ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', 'refuses-certificate'],
    ['ERR_SSL_SSL/TLS_ALERT_UNKNOWN_CA', 'refuses-certificate'],
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
    ['sent', 'bad-answer'],
    ['answered', 'truncated'],
  ] as const)('is what was wrong with a response, however far its request had come: %s', (at, kind) => {
    const failure = toGatewayError(new MalformedResponseError('answer-length', 'too short'), at)

    expect(failure).toMatchObject({ kind, reason: 'answer-length' })
  })

  test('is kept by a failure that knows it', () => {
    const failure = new GatewayError('connect-failed', { reason: 'refused' })

    expect(describeUpstreamError(failure)).toBe('the endpoint refuses connections (ECONNREFUSED)')
  })
})

describe('what an operator reads', () => {
  test('is what the reason says everywhere, with its code', () => {
    const cause = coded('ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.1:80')

    expect(describeUpstreamError(cause)).toBe('the endpoint refuses connections (ECONNREFUSED)')
    expect(describeUpstreamError(new GatewayError('connect-failed', { reason: 'refused', cause }))).toBe(
      describeUpstreamError(cause),
    )
  })

  test('is what the system says where no reason is known', () => {
    const cause = coded('MADE_UP', 'made up')

    expect(describeUpstreamError(new GatewayError('connect-failed', { reason: 'other-connect-failure', cause }))).toBe(
      'made up',
    )
    expect(describeUpstreamError(new AggregateError([cause, cause]))).toBe('made up')
  })
})
