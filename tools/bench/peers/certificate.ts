import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Certificates, makeCertificates } from '../../../test/helpers/certificates.ts'
import { program } from '../../../test/helpers/program.ts'

let made: Certificates | null = null

/** Makes the certificates of a run, once; gives the reason when there are none. */
export const certificates = async (): Promise<Certificates | { readonly missing: string }> => {
  const { path, missing } = await program('openssl')
  if (missing !== null) return { missing }
  made ??= makeCertificates(path)
  return made
}

/**
 * Writes the certificate that all peers with TLS show, the same one (ECDSA, P-256), into a directory; gives the reason
 * when there is none.
 */
export const writeCertificate = async (
  directory: string,
): Promise<{ readonly certificate: string; readonly key: string } | { readonly missing: string }> => {
  const all = await certificates()
  if ('missing' in all) return all
  const { selfSigned } = all
  const [certificate, key] = [join(directory, 'tls.pem'), join(directory, 'tls.pem.key')]
  await writeFile(certificate, selfSigned.cert)
  await writeFile(key, selfSigned.key) // HAProxy looks for it under this name
  return { certificate, key }
}
