import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Finding, Path } from './problem.ts'

/** Finds what is wrong with a certificate and its key (PEM texts); `path` leads to the map that holds both. */
export function certificateFindings(
  path: Path,
  { certificate, key }: { readonly certificate: string; readonly key: string },
): readonly Finding[] {
  const leaf = attempt(() => new X509Certificate(certificate))
  if (leaf === null) return [unreadable([...path, 'certificate'], 'a certificate')]
  const own = attempt(() => createPrivateKey(key))
  if (own === null) return [unreadable([...path, 'key'], 'a private key')]
  if (leaf.checkPrivateKey(own)) return []
  return [
    {
      path: [...path, 'key'],
      message: 'the key does not belong to the certificate',
      expected: 'the private key of the first certificate in the file',
      found: 'another key',
      hint: 'a renewal replaces both files; put the certificate of the host first, its chain after it',
    },
  ]
}

const attempt = <T>(make: () => T): T | null => {
  try {
    return make()
  } catch {
    return null // the cause quotes parts of the text
  }
}

const unreadable = (path: Path, what: string): Finding => ({
  path,
  message: `${what} that cannot be read`,
  expected: `${what} in PEM`,
  found: 'something else between its BEGIN and END',
  hint: 'check the file: it may be cut short',
})
