import { X509Certificate } from 'node:crypto'
import type { RequestOptions } from 'node:https'
import { type Target, urlOf } from './target.ts'
import { unasked } from './unasked.ts'
import { otherCertificate } from './unreached.ts'

/**
 * Trusts one certificate and no other. Whoever can read it in the configuration file needs no authority to vouch for it, and no name in
 * it. Nothing is sent, the token least of all, before it has been shown.
 */
export const pinned = (target: Target, certificate: string): RequestOptions => {
  const wanted = fingerprint(certificate)
  if (wanted === null)
    throw unasked(`admin.tls.certificate in ${target.file} is no certificate; see: check ${target.file}`)
  return {
    ca: certificate,
    // It need not be an authority, nor signed by one that is in the file.
    allowPartialTrustChain: true,
    checkServerIdentity: (_, shown) =>
      shown.fingerprint256 === wanted ? undefined : unasked(`${urlOf(target)} ${otherCertificate(target)}`),
  }
}

const fingerprint = (certificate: string): string | null => {
  try {
    return new X509Certificate(certificate).fingerprint256
  } catch {
    return null
  }
}
