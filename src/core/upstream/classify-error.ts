import { GatewayError, type ReasonFor, reasonText, StacklessError } from '../exchange/failures/errors.ts'
import { errorMessage } from '../lib/try.ts'

type ResponseFlaw = Extract<ReasonFor<'bad-answer'>, ReasonFor<'truncated'>>

/** The message quotes nothing of the response. */
export class MalformedResponseError extends StacklessError {
  readonly reason: ResponseFlaw

  constructor(reason: ResponseFlaw, message: string) {
    super(message)
    this.name = 'MalformedResponse'
    this.reason = reason
  }
}

type ConnectionReason = ReasonFor<'tls-failed'>

/** Null: the code of Node or OpenSSL is unknown. */
export const classifyError = (error: unknown): ConnectionReason | null => {
  if (!(error instanceof Error)) return null
  // One error for each tried address. A refused connection says more than a missing route (IPv6).
  if (error instanceof AggregateError) {
    const [first = null, ...others] = error.errors.map(classifyError).filter((each) => each !== null)
    return first === 'unreachable' ? (others[0] ?? first) : first
  }
  const { code = '' } = error as NodeJS.ErrnoException
  const known = reasonByCode[code]
  if (known !== undefined) return known
  if (certificateRequiredAlert.test(code)) return 'asks-for-certificate'
  if (certificateRejectedAlert.test(code)) return 'refuses-certificate'
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_OSSL_')) return 'tls-handshake'
  return null
}

/** Describes an error for operators: by its reason if known, else in the words of the system or the library. */
export const describeUpstreamError = (error: unknown): string => {
  if (error instanceof GatewayError && error.cause instanceof Error) return describeUpstreamError(error.cause)
  const reason =
    error instanceof GatewayError || error instanceof MalformedResponseError ? error.reason : classifyError(error)
  if (reason !== null) return reasonText(reason)
  if (error instanceof AggregateError) return describeUpstreamError(error.errors[0])
  return errorMessage(error)
}

/** Nothing was sent on the connection. */
export const connectFailedError = (cause: unknown): GatewayError =>
  new GatewayError('connect-failed', { reason: toReason(cause) ?? 'other-connect-failure', cause })

export const tlsFailedError = (cause: Error): GatewayError =>
  new GatewayError('tls-failed', { reason: classifyError(cause) ?? 'tls-handshake', cause })

export const toGatewayError = (cause: unknown, at: 'unsent' | 'sent' | 'answered'): GatewayError => {
  if (cause instanceof GatewayError) return cause
  if (at === 'unsent') return connectFailedError(cause)
  if (at === 'answered') return new GatewayError('truncated', { reason: toReason(cause), cause })
  return cause instanceof MalformedResponseError
    ? new GatewayError('bad-answer', { reason: cause.reason, cause })
    : new GatewayError('reset-before-headers', { reason: classifyError(cause), cause })
}

const toReason = (cause: unknown): ConnectionReason | ResponseFlaw | null =>
  cause instanceof MalformedResponseError ? cause.reason : classifyError(cause)

// TLS 1.3 has an alert for a missing certificate (RFC 8446 §6.2). Earlier versions send the alert for no common cipher:
// unknown.
const certificateRequiredAlert = /^ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED$/
const certificateRejectedAlert =
  /_ALERT_(BAD_CERTIFICATE|CERTIFICATE_EXPIRED|CERTIFICATE_REVOKED|CERTIFICATE_UNKNOWN|UNSUPPORTED_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)$/

const reasonByCode: Readonly<Record<string, ConnectionReason>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'closed',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'no-ports',
  EMFILE: 'no-descriptors',
  ENFILE: 'no-descriptors',
  ETIMEDOUT: 'not-connected-in-time',
  ENOTFOUND: 'name-not-found',
  EAI_AGAIN: 'name-server-silent',
  CERT_HAS_EXPIRED: 'certificate-expired',
  CERT_NOT_YET_VALID: 'certificate-not-yet-valid',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate-name',
  HOSTNAME_MISMATCH: 'certificate-name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate-untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate-untrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate-untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate-untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate-untrusted',
  CERT_UNTRUSTED: 'certificate-untrusted',
  CERT_REJECTED: 'certificate-untrusted',
  CERT_REVOKED: 'certificate-revoked',
  CERT_SIGNATURE_FAILURE: 'certificate-flawed',
  CERT_CHAIN_TOO_LONG: 'certificate-flawed',
  INVALID_CA: 'certificate-flawed',
  INVALID_PURPOSE: 'certificate-flawed',
  PATH_LENGTH_EXCEEDED: 'certificate-flawed',
  ERR_SSL_WRONG_VERSION_NUMBER: 'no-tls',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'no-tls',
  ERR_SSL_HTTP_REQUEST: 'no-tls',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'tls-version',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'tls-version',
  ERR_SSL_TLSV1_UNSUPPORTED_PROTOCOL: 'tls-version',
}
