import type { TLSSocket } from 'node:tls'

// [19] of SSL_SESSION_ASN1 in OpenSSL's ssl/ssl_asn1.c: an INTEGER.
const groupTag = 0xb3

/**
 * Finds the group in which the keys of a client's connection were exchanged, by its number in IANA's TLS Supported
 * Groups; 0: not said. Node tells it to clients alone (`getEphemeralKeyInfo`), but OpenSSL writes it into the session.
 * That holds secrets, so it is wiped.
 */
export const getNegotiatedGroup = (socket: TLSSocket): number => {
  const session = socket.getSession()
  if (session === undefined || session === null) return 0
  const group = readNegotiatedGroup(session)
  session.fill(0)
  return group
}

/** Reads the group from a session in DER, member by member; 0: there is none. */
export const readNegotiatedGroup = (session: Buffer): number => {
  for (let at = contentStart(session, 0); at < session.length; ) {
    const start = contentStart(session, at)
    const end = start + contentLength(session, at)
    const bytes = end - start - 2 // behind the tag and the length of the INTEGER
    if (session[at] === groupTag)
      return bytes >= 1 && bytes <= 4 && end <= session.length ? session.readUIntBE(start + 2, bytes) : 0
    at = end
  }
  return 0
}

// A length of 128 or more is the number of the bytes that hold it (X.690 §8.1.3).
const contentStart = (der: Buffer, at: number): number => {
  const length = der[at + 1] ?? 0
  return at + 2 + (length < 128 ? 0 : length & 127)
}

const contentLength = (der: Buffer, at: number): number => {
  let length = der[at + 1] ?? 0
  if (length < 128) return length
  const end = contentStart(der, at)
  length = 0
  for (let each = at + 2; each < end; each++) length = length * 256 + (der[each] ?? 0)
  return length
}
