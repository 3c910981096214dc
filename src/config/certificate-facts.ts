import { X509Certificate } from 'node:crypto'

/** Is what of a certificate people ask for. */
export interface CertificateFacts {
  /** The DNS names that it is for, in lower case; a wildcard as `*.example.com`. */
  readonly names: readonly string[]
  /** Its last moment, in ms since the epoch. */
  readonly notAfter: number
}

/** Reads the first certificate of a PEM text, which is the host's. Throws when it cannot be read. */
export const factsOf = (certificate: string): CertificateFacts => {
  const { subjectAltName, validToDate } = new X509Certificate(certificate)
  // What is no plain name Node writes in quotes. Nobody can ask for it: SNI is letters, digits, hyphens and dots (RFC 6066 §3).
  const names = (subjectAltName ?? '').split(', ').flatMap((each) => /^DNS:([\w.*-]+)$/.exec(each)?.[1] ?? [])
  return { names: names.map((name) => name.toLowerCase()), notAfter: validToDate.getTime() }
}
