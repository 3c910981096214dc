import { GatewayError } from '../../failures/errors.ts'
import type { ReasonFor } from '../../failures/reasons.ts'
import { proxySignature } from '../proxy-protocol/proxy-header.ts'

/** An error of Node's parser or of its timeouts, with the bytes at which it happened. */
export type ParserError = Error & {
  readonly code?: string
  readonly rawPacket?: unknown
  /** Where in the packet it happened. */
  readonly bytesParsed?: number
}

/**
 * Creates the failure for which Node's parser, or a timeout of Node's, has ended a connection; `line` is the request
 * line, as far as it is known. Null: the connection is gone, and no response is possible.
 */
export const classifyParserError = (
  error: ParserError,
  line: string | null,
  maxTargetBytes: number,
): GatewayError | null => {
  const { code = '', rawPacket } = error
  if (isConnectionLost(code)) return null
  const otherFailure = Buffer.isBuffer(rawPacket) ? detectOtherProtocol(rawPacket) : null
  if (otherFailure !== null) return otherFailure
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new GatewayError('request-timeout', { reason: 'head-too-slow', cause: error })
  if (code === 'HPE_HEADER_OVERFLOW')
    // The parser has one limit for target and fields together. Without the line it is the fields, which are the
    // likelier.
    return getTargetBytes(line) > maxTargetBytes
      ? new GatewayError('uri-too-long', { cause: error })
      : new GatewayError('header-too-large', { reason: 'fields-too-large', cause: error })
  // A version that is well-formed but not supported (HTTP/3.0) gets another response than nonsense (HTTP/x), or than a
  // bad line end behind HTTP/1.1.
  if (code === 'HPE_INVALID_VERSION' && / HTTP\/(?!1\.[01])\d\.\d$/.test(line ?? ''))
    return new GatewayError('unsupported-version', { cause: error })
  return new GatewayError('bad-request', { reason: reasonByCode[code] ?? 'bad-syntax', cause: error })
}

// After an error of TLS no response can be sent.
const isConnectionLost = (code: string): boolean => /^(ECONNRESET|EPIPE|ETIMEDOUT|ERR_SSL.*|ERR_OSSL.*)$/.test(code)

const reasonByCode: Readonly<Record<string, ReasonFor<'bad-request'>>> = {
  HPE_INVALID_METHOD: 'bad-method',
  HPE_INVALID_URL: 'bad-target',
  HPE_INVALID_CONSTANT: 'bad-version',
  HPE_INVALID_VERSION: 'bad-version',
  HPE_INVALID_HEADER_TOKEN: 'bad-field',
  HPE_UNEXPECTED_SPACE: 'bad-field',
  HPE_CR_EXPECTED: 'bad-line-end',
  HPE_LF_EXPECTED: 'bad-line-end',
  HPE_STRICT: 'bad-line-end',
  HPE_INVALID_CONTENT_LENGTH: 'bad-length',
  HPE_UNEXPECTED_CONTENT_LENGTH: 'bad-length',
  HPE_INVALID_TRANSFER_ENCODING: 'bad-transfer-coding',
  HPE_INVALID_CHUNK_SIZE: 'bad-chunk',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'bad-chunk',
  HPE_INVALID_EOF_STATE: 'cut-short',
}

// The PROXY protocol, §2.1: more than its first word, which could be a method.
const proxyLine = /^PROXY (?:TCP4|TCP6|UNKNOWN)[ \r]/

// RFC 8446 §5.1: a record of type handshake, with a version that begins with 3.
const isTls = (first: Buffer): boolean => first[0] === 0x16 && first[1] === 0x03

/**
 * Detects another protocol than HTTP by its first bytes: TLS, or the PROXY protocol header of a load balancer in front,
 * of which nothing else is read. Null: it is neither.
 */
export const detectOtherProtocol = (first: Buffer): GatewayError | null => {
  if (isTls(first)) {
    const cause = new Error('TLS where plain HTTP is spoken')
    return new GatewayError('bad-request', { reason: 'tls-on-plain-port', cause })
  }
  const binary = first.subarray(0, proxySignature.length).equals(proxySignature)
  if (!binary && !proxyLine.test(first.toString('latin1', 0, 16))) return null
  const cause = new Error(
    `a PROXY protocol header, version ${binary ? 2 : 1}, where none is taken (listen.proxyProtocol)`,
  )
  return new GatewayError('bad-request', { reason: 'proxy-header', cause })
}

const getTargetBytes = (line: string | null): number => line?.split(/ +/, 2)[1]?.length ?? 0

/** Finds the request line that the parser was at in the packet on which it failed; null: an earlier packet held it. */
export const getRequestLine = ({ rawPacket, bytesParsed = 0 }: ParserError): string | null => {
  if (!Buffer.isBuffer(rawPacket)) return null
  // a request pipelined in front ends there
  const before = bytesParsed < 4 ? -1 : rawPacket.lastIndexOf('\r\n\r\n', bytesParsed - 4)
  const packet = rawPacket.toString('latin1', before === -1 ? 0 : before + 4)
  return /^[\r\n]*([A-Z-]+ [^\r\n]*)/.exec(packet)?.[1] ?? null
}
