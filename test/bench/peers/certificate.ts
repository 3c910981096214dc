import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeCertificates, type Pair } from '../../helpers/certificates.ts'
import { program } from '../../helpers/program.ts'

let made: Pair | null = null

/** Writes the certificate that all peers with TLS show, the same one (ECDSA, P-256), into a directory; gives the reason when there is none. */
export const writeCertificate = async (
  directory: string,
): Promise<{ readonly certificate: string; readonly key: string } | { readonly missing: string }> => {
  const { path, missing } = await program('openssl')
  if (missing !== null) return { missing }
  made ??= makeCertificates(path).selfSigned
  const [certificate, key] = [join(directory, 'tls.pem'), join(directory, 'tls.pem.key')]
  await writeFile(certificate, made.cert)
  await writeFile(key, made.key) // HAProxy looks for it under this name
  return { certificate, key }
}
