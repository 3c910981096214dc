/** HAProxy's proxy-protocol.txt. */

import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { canonicalAddress } from '../../core/lib/net/addresses.ts'

export interface ProxyHeader {
  readonly length: number
  /** `unknown`: the load balancer says nothing about the client. `local`: its own health check. */
  readonly origin: 'client' | 'unknown' | 'local'
  /** Null: not known. */
  readonly address: string | null
  /** The server name that the client asked for, for the log; null: not said. */
  readonly authority: string | null
  /** Whether the client speaks TLS with the load balancer; null: not said. */
  readonly secure: boolean | null
}

// §2.1.
const maxLineBytes = 107
// Behind the first 16 bytes of version 2. §2.2: a header is smaller than a segment, and every host takes 536 bytes (RFC
// 9293 §3.7.1). Addresses take 36, a name and a checksum at most 265.
const maxBlockBytes = 536

export const maxProxyHeaderBytes = 16 + maxBlockBytes

const linePrefix = Buffer.from('PROXY ')
/** The signature of version 2; no other protocol begins with it. */
const proxySignature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

/** Null: incomplete. An error: no header, or an invalid one. */
export const parseProxyHeader = (bytes: Buffer): ProxyHeader | GatewayError | null => {
  if (startsAlike(bytes, proxySignature)) return bytes.length < 16 ? null : parseBinary(bytes)
  if (startsAlike(bytes, linePrefix)) return parseLine(bytes)
  return new GatewayError('bad-request', { reason: 'no-proxy-header' })
}

// §2.1: more than the first word, which could be a method.
const proxyLine = /^PROXY (?:TCP4|TCP6|UNKNOWN)[ \r]/

/** Detects a header from an address that is no configured load balancer. */
export const detectProtocol = (first: Buffer): GatewayError | null => {
  const isBinary = first.subarray(0, proxySignature.length).equals(proxySignature)
  if (!isBinary && !proxyLine.test(first.toString('latin1', 0, 16))) return null
  const cause = new Error(
    `a PROXY protocol header, version ${isBinary ? 2 : 1}, from an address that is not in listen.proxyProtocol.from`,
  )
  return new GatewayError('bad-request', { reason: 'proxy-header', cause })
}

/** Quotes nothing that was sent. */
export const createHeaderFlaw = (flaw: string): GatewayError =>
  new GatewayError('bad-request', { reason: 'bad-proxy-header', cause: new Error(flaw) })

const startsAlike = (bytes: Buffer, prefix: Buffer): boolean => {
  const length = Math.min(bytes.length, prefix.length)
  return bytes.compare(prefix, 0, length, 0, length) === 0
}

const port = '(0|[1-9]\\d{0,4})'
const linePattern = new RegExp(`^PROXY (?:UNKNOWN(?: .*)?|TCP([46]) (\\S+) (\\S+) ${port} ${port})$`)

/** §2.1: a line that ends in CR LF only. */
const parseLine = (bytes: Buffer): ProxyHeader | GatewayError | null => {
  const start = bytes.toString('latin1', 0, maxLineBytes)
  const end = start.search(/[\r\n]/)
  if (end === -1 || (end === start.length - 1 && start[end] === '\r' && start.length < maxLineBytes))
    return start.length < maxLineBytes ? null : createHeaderFlaw(`version 1: no line end in ${maxLineBytes} bytes`)
  if (start.slice(end, end + 2) !== '\r\n') return createHeaderFlaw('version 1: a line end that is not CR LF')
  const found = linePattern.exec(start.slice(0, end))
  if (found === null) return createHeaderFlaw('version 1: the line is malformed')
  const [, family, source = '', destination = '', ...ports] = found
  const header = { length: end + 2, authority: null, secure: null }
  if (family === undefined) return { ...header, origin: 'unknown', address: null }
  const address = parseLineAddress(source, family)
  if (address === null || parseLineAddress(destination, family) === null || ports.some((text) => Number(text) > 65_535))
    return createHeaderFlaw('version 1: an address or a port is malformed')
  return { ...header, origin: 'client', address }
}

const parseLineAddress = (text: string, family: string): string | null =>
  text.includes(':') === (family === '6') && !text.includes('%') ? canonicalAddress(text) : null

const addressBytes: Readonly<Record<number, 4 | 16>> = { 17: 4, 33: 16 }

/** §2.2; needs the first 16 bytes. */
const parseBinary = (bytes: Buffer): ProxyHeader | GatewayError | null => {
  const [versionAndCommand = 0, family = 0] = bytes.subarray(12)
  const length = 16 + bytes.readUInt16BE(14)
  if (versionAndCommand >> 4 !== 2) return createHeaderFlaw('version 2: another version behind the signature')
  if ((versionAndCommand & 15) > 1) return createHeaderFlaw('version 2: an unknown command')
  if (length > maxProxyHeaderBytes) return createHeaderFlaw(`version 2: longer than ${maxProxyHeaderBytes} bytes`)
  const isLocal = (versionAndCommand & 15) === 0
  // The block of a LOCAL connection is discarded, whatever its family.
  if (!isLocal && (family >> 4 > 3 || (family & 15) > 2)) return createHeaderFlaw('version 2: an unknown family')
  if (bytes.length < length) return null
  const size = addressBytes[family]
  // Unix sockets and datagrams too: §2.2 lets receivers treat them as unspecified.
  if (isLocal || size === undefined)
    return { length, origin: isLocal ? 'local' : 'unknown', address: null, authority: null, secure: null }
  const tlvsAt = 16 + 2 * size + 4
  if (length < tlvsAt) return createHeaderFlaw('version 2: too short for its addresses')
  const tlvs = parseTlvs(bytes.subarray(0, length), tlvsAt)
  if (tlvs instanceof GatewayError) return tlvs
  return { length, origin: 'client', address: formatAddress(bytes.subarray(16, 16 + size)), ...tlvs }
}

const formatAddress = (bytes: Buffer): string | null =>
  bytes.length === 4 ? bytes.join('.') : canonicalAddress(bytes.toString('hex').replace(/(.{4})(?!$)/g, '$1:'))

const tlvTypes = { authority: 0x02, crc32c: 0x03, ssl: 0x20 } as const

// PP2_CLIENT_SSL, in the first byte of PP2_TYPE_SSL; four bytes on a certificate follow (§2.2.6).
const clientSsl = 0x01
const minSslBytes = 5

/** Skips all types but the name, the checksum and TLS. */
const parseTlvs = (header: Buffer, start: number): Pick<ProxyHeader, 'authority' | 'secure'> | GatewayError => {
  let authority: string | null = null
  let secure: boolean | null = null
  let at = start
  while (at < header.length) {
    const end = at + 3 <= header.length ? at + 3 + header.readUInt16BE(at + 1) : Number.POSITIVE_INFINITY
    if (end > header.length) return createHeaderFlaw('version 2: the entries behind the addresses are cut short')
    const value = header.subarray(at + 3, end)
    if (header[at] === tlvTypes.crc32c) {
      if (value.length !== 4 || value.readUInt32BE() !== crc32c(header, at + 3))
        return createHeaderFlaw('version 2: the checksum is wrong')
    } else if (header[at] === tlvTypes.authority) authority = parseAuthority(value)
    else if (header[at] === tlvTypes.ssl) {
      if (value.length < minSslBytes) return createHeaderFlaw('version 2: the entry about TLS is cut short')
      secure = ((value[0] as number) & clientSsl) !== 0
    }
    at = end
  }
  return { authority, secure }
}

// Bounds the text that a client may write, and leaves nothing that needs escaping.
const parseAuthority = (value: Buffer): string | null => {
  const text = value.toString('latin1')
  return /^[\w.:[\]-]{1,255}$/.test(text) ? text : null
}

// RFC 9260 appendix A: the Castagnoli polynomial, reflected. Node has only zlib's.
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  return crc
})

/** The header's own checksum, four bytes from `checksumAt`, counts as zeros. */
const crc32c = (header: Buffer, checksumAt: number): number => {
  let crc = 0xffffffff
  for (const [at, byte] of header.entries()) {
    const counted = at >= checksumAt && at < checksumAt + 4 ? 0 : byte
    crc = (crc >>> 8) ^ (crcTable[(crc ^ counted) & 255] as number)
  }
  return (crc ^ 0xffffffff) >>> 0
}
