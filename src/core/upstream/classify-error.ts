import { GatewayError, type ReasonFor, reasonText, StacklessError } from '../exchange/failures/errors.ts'
import { errorMessage } from '../lib/try.ts'

type ResponseFlaw = Extract<ReasonFor<'bad-response'>, ReasonFor<'truncated'>>

export class MalformedResponseError extends StacklessError {
  readonly reason: ResponseFlaw

  constructor(reason: ResponseFlaw, message: string) {
    super(message)
    this.name = 'MalformedResponse'
    this.reason = reason
  }
}

type ConnectionReason = ReasonFor<'tls-failed'>

export const classifyError = (error: unknown): ConnectionReason | null => {
  if (!(error instanceof Error)) return null
  // One error for each tried address. A refused connection says more than a missing route (IPv6).
  if (error instanceof AggregateError) {
    const [first = null, ...others] = error.errors.map(classifyError).filter((each) => each !== null)
    return first === 'unreachable' ? (others[0] ?? first) : first
  }
  const { code = '' } = error as NodeJS.ErrnoException
  const known = reasonByCode.get(code)
  if (known !== undefined) return known
  if (code === certificateRequiredAlert) return 'asks-for-certificate'
  if (certificateRejectedAlert.test(code)) return 'rejects-certificate'
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_OSSL_')) return 'tls-handshake'
  return null
}

export const describeUpstreamError = (error: unknown): string => {
  if (error instanceof GatewayError && error.cause instanceof Error) return describeUpstreamError(error.cause)
  const reason =
    error instanceof GatewayError || error instanceof MalformedResponseError ? error.reason : classifyError(error)
  if (reason !== null) return reasonText(reason)
  if (error instanceof AggregateError) return describeUpstreamError(error.errors[0])
  return errorMessage(error)
}

export const connectFailedError = (cause: unknown): GatewayError =>
  new GatewayError('connect-failed', { reason: toReason(cause) ?? 'other-connect-failure', cause })

export const tlsFailedError = (cause: Error): GatewayError =>
  new GatewayError('tls-failed', { reason: classifyError(cause) ?? 'tls-handshake', cause })

export const toGatewayError = (cause: unknown, at: 'unsent' | 'sent' | 'responded'): GatewayError => {
  if (cause instanceof GatewayError) return cause
  if (at === 'unsent') return connectFailedError(cause)
  if (at === 'responded') return new GatewayError('truncated', { reason: toReason(cause), cause })
  return cause instanceof MalformedResponseError
    ? new GatewayError('bad-response', { reason: cause.reason, cause })
    : new GatewayError('reset-before-headers', { reason: classifyError(cause), cause })
}

const toReason = (cause: unknown): ConnectionReason | ResponseFlaw | null =>
  cause instanceof MalformedResponseError ? cause.reason : classifyError(cause)

// RFC 8446 §6.2. Before TLS 1.3, a missing certificate has no alert of its own: `no common cipher` may mean it.
const certificateRequiredAlert = 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'
const certificateRejectedAlert =
  /_ALERT_(BAD_CERTIFICATE|CERTIFICATE_EXPIRED|CERTIFICATE_REVOKED|CERTIFICATE_UNKNOWN|UNSUPPORTED_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)$/

const codesByReason: Partial<Record<ConnectionReason, readonly string[]>> = {
  refused: ['ECONNREFUSED'],
  reset: ['ECONNRESET'],
  closed: ['EPIPE'],
  unreachable: ['EHOSTUNREACH', 'ENETUNREACH'],
  'no-ports': ['EADDRNOTAVAIL'],
  'no-descriptors': ['EMFILE', 'ENFILE'],
  'not-connected-in-time': ['ETIMEDOUT'],
  'name-not-found': ['ENOTFOUND'],
  'name-server-silent': ['EAI_AGAIN'],
  'certificate-expired': ['CERT_HAS_EXPIRED'],
  'certificate-not-yet-valid': ['CERT_NOT_YET_VALID'],
  'certificate-name': ['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH'],
  'certificate-untrusted': [
    ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_GET_ISSUER_CERT', 'CERT_UNTRUSTED'],
    ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_REJECTED'],
  ],
  'certificate-revoked': ['CERT_REVOKED'],
  'certificate-flawed': [
    'CERT_SIGNATURE_FAILURE',
    'CERT_CHAIN_TOO_LONG',
    'INVALID_CA',
    'INVALID_PURPOSE',
    'PATH_LENGTH_EXCEEDED',
  ],
  'no-tls': ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'ERR_SSL_HTTP_REQUEST'],
  'tls-version': [
    'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    'ERR_SSL_UNSUPPORTED_PROTOCOL',
    'ERR_SSL_TLSV1_UNSUPPORTED_PROTOCOL',
  ],
}

const reasonByCode: ReadonlyMap<string, ConnectionReason> = new Map(
  Object.entries(codesByReason).flatMap(([reason, codes]) => codes.map((code) => [code, reason as ConnectionReason])),
)
