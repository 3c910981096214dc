import { GatewayError } from '../errors.ts'
import { MalformedResponse } from './malformed-response.ts'

/** Says in a few words, for operators, why an endpoint could not be reached. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof GatewayError) return ofGateway(error)
  // One error for each address that was tried.
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join(', ')
  const { code = '', reason } = error as NodeJS.ErrnoException & { readonly reason?: unknown }
  if (code in codes) return codes[code] as string
  // OpenSSL's own message carries its line numbers.
  if (code.startsWith('ERR_SSL_') && typeof reason === 'string') return reason.replace(/^[\w/.]+ alert /, '')
  if (error instanceof MalformedResponse) return 'it answers with something that is no HTTP'
  return error.message.replace(/; if the root CA .*/, '') // Node's advice is for Node's command line, and tls.ca is ours
}

const ofGateway = ({ kind, cause }: GatewayError): string => {
  if (!(cause instanceof Error)) return kinds[kind] ?? kind
  return kind === 'tls-failed' ? `TLS: ${reasonOf(cause)}` : reasonOf(cause)
}

const kinds: Readonly<Record<string, string>> = { 'connect-timeout': 'no connection in time' }

const codes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection closed',
  EHOSTUNREACH: 'no route to it',
  ENETUNREACH: 'no route to it',
  ETIMEDOUT: 'no connection in time',
  ENOTFOUND: 'the name does not resolve',
  EAI_AGAIN: 'the name server does not answer',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it speaks no TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it speaks no TLS',
}
