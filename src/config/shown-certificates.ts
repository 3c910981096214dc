import { type CertificateFacts, factsOf } from './certificate-facts.ts'
import type { Config } from './config.ts'
import type { Path } from './problem.ts'

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
