import { proxySignature } from '../../../features/proxy-protocol/proxy-header.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'

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
