import { X509Certificate } from 'node:crypto'
import type { Config } from './config.ts'
import type { Path } from './problem.ts'

/** Cuts a PEM text into its blocks, each from its BEGIN on. */
export const pemBlocks = (text: string): readonly string[] =>
  text.split(/(?=-----BEGIN )/).filter((block) => block.startsWith('-----BEGIN '))

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

/** Is a certificate that the gateway shows to whoever connects, with the key path of the map that holds it. */
export interface ShownCertificate extends CertificateFacts {
  readonly path: Path
}

/** Lists them: those of the public listener, in the order of the file, then the operator's. */
export const shownCertificates = ({ listen, admin }: Config): readonly ShownCertificate[] => [
  ...(listen.tls?.certificates ?? []).map(({ certificate }, index) => ({
    path: ['listen', 'tls', 'certificates', index],
    ...factsOf(certificate),
  })),
  ...(admin.tls === null ? [] : [{ path: ['admin', 'tls'], ...factsOf(admin.tls.certificate) }]),
]

/**
 * Lists whose word counts for certificates of clients: for each key that names authorities, the one of them that ends first. It is named by its
 * subject, in one line.
 */
export const clientAuthorities = ({ listen, auth }: Config): readonly ShownCertificate[] => [
  ...firstToEnd(['listen', 'tls', 'clientCa'], listen.tls?.clientCa ?? ''),
  ...firstToEnd(['auth', 'mtls', 'ca'], auth?.mtls.ca ?? ''),
]

const firstToEnd = (path: ShownCertificate['path'], text: string): readonly ShownCertificate[] =>
  pemBlocks(text)
    .map((block) => new X509Certificate(block))
    .sort((a, b) => a.validToDate.getTime() - b.validToDate.getTime())
    .slice(0, 1)
    .map(({ subject, validToDate }) => ({
      path,
      names: [subject.replaceAll('\n', ', ')],
      notAfter: validToDate.getTime(),
    }))
