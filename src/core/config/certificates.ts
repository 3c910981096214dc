import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { withoutRootDot } from '../lib/net/tls.ts'
import { tryOrNull } from '../lib/try.ts'
import type { Config } from './config.ts'
import type { ConfigIssue, KeyPath } from './problem.ts'
import { configTransfers } from './transfer-parts.ts'

export const pemBlocks = (text: string): readonly string[] =>
  text.split(/(?=-----BEGIN )/).filter((block) => block.startsWith('-----BEGIN '))

interface CertificateFacts {
  /** In lower case. */
  readonly names: readonly string[]
  readonly notAfter: number
}

/** The first certificate of a PEM text. Throws. */
export const readCertificateFacts = (certificate: string): CertificateFacts => {
  const { subjectAltName, validToDate } = new X509Certificate(certificate)
  // Node quotes names with other characters; no client can ask for them by SNI (RFC 6066 §3).
  const names = (subjectAltName ?? '').split(', ').flatMap((name) => /^DNS:([\w.*-]+)$/.exec(name)?.[1] ?? [])
  return { names: names.map((name) => withoutRootDot(name.toLowerCase())), notAfter: validToDate.getTime() }
}

interface ConfiguredCertificate extends CertificateFacts {
  readonly path: KeyPath
}

export const listenerCertificates = ({ listen, admin }: Config): readonly ConfiguredCertificate[] => [
  ...(listen.tls?.certificates ?? []).map(({ certificate }, index) => ({
    path: ['listen', 'tls', 'certificates', index],
    ...readCertificateFacts(certificate),
  })),
  ...(admin.tls === null ? [] : [{ path: ['admin', 'tls'], ...readCertificateFacts(admin.tls.certificate) }]),
]

/** For each key with client authorities, the authority that expires first. */
export const clientAuthorities = (config: Config): readonly ConfiguredCertificate[] =>
  [
    { path: ['listen', 'tls', 'clientCa'], text: config.listen.tls?.clientCa ?? '' },
    ...configTransfers.flatMap((each) => each.authorities?.(config) ?? []),
    { path: ['admin', 'tls', 'clientCertificate', 'ca'], text: config.admin.tls?.clientCertificate?.ca ?? '' },
  ].flatMap(({ path, text }) => {
    const all = readAll(text).map(({ subject, validToDate }) => ({
      path,
      names: [inOneLine(subject)],
      notAfter: validToDate.getTime(),
    }))
    return all.toSorted((a, b) => a.notAfter - b.notAfter).slice(0, 1)
  })

const inOneLine = (name: string): string => name.replaceAll('\n', ', ')

export function validateKeyPair(
  path: KeyPath,
  { certificate, key }: { readonly certificate: string; readonly key: string },
): readonly ConfigIssue[] {
  // Node's errors quote parts of the text.
  const leaf = tryOrNull(() => new X509Certificate(certificate))
  if (leaf === null) return [unreadableIssue([...path, 'certificate'], 'a certificate')]
  const privateKey = tryOrNull(() => createPrivateKey(key))
  if (privateKey === null) return [unreadableIssue([...path, 'key'], 'a private key')]
  if (leaf.checkPrivateKey(privateKey)) return validateByTls(path, certificate, key)
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

export function validateCaBundle(path: KeyPath, text: string): readonly ConfigIssue[] {
  const isRead = pemBlocks(text).every((block) => tryOrNull(() => new X509Certificate(block)) !== null)
  const isAccepted = isRead && tryOrNull(() => createSecureContext({ ca: text })) !== null
  return isAccepted ? [] : [unreadableIssue(path, 'a certificate')]
}

export function validateIssuers(path: KeyPath, text: string): readonly ConfigIssue[] {
  const unreadable = validateCaBundle(path, text)
  if (unreadable.length > 0 || readAll(text).some(({ ca }) => ca)) return unreadable
  return [
    {
      path,
      message: 'no certificate of an authority: every client certificate would be rejected',
      expected: 'the certificate of the authority that issues client certificates',
      found: 'only certificates without CA:TRUE',
      hint: 'openssl x509 -text shows CA:TRUE for an authority',
    },
  ]
}

/** Finds an authority whose issuer is missing: with revocation lists, OpenSSL accepts no chain without its root. */
export function validateChainsToRoots(path: KeyPath, text: string): readonly ConfigIssue[] {
  const authorities = tryOrNull(() => readAll(text)) ?? []
  const [cut] = authorities.filter((authority) => !authorities.some((issuer) => authority.checkIssued(issuer)))
  if (cut === undefined) return []
  return [
    {
      path,
      message:
        'with clientCrl, every client of this authority would be rejected: the issuer of the authority is missing',
      expected: 'the certificates of all authorities above it, up to the root',
      found: `${inOneLine(cut.subject)}, issued by ${inOneLine(cut.issuer)}`,
      hint: 'add them to this file, and their revocation lists to clientCrl; without clientCrl the issuing authority is enough',
    },
  ]
}

const readAll = (text: string): readonly X509Certificate[] => pemBlocks(text).map((block) => new X509Certificate(block))

export function validateRevocationLists(path: KeyPath, text: string): readonly ConfigIssue[] {
  const isBroken = pemBlocks(text).some((block) => tryOrNull(() => createSecureContext({ crl: block })) === null)
  return isBroken ? [unreadableIssue(path, 'a list of revoked certificates')] : []
}

function validateByTls(path: KeyPath, certificate: string, key: string): readonly ConfigIssue[] {
  try {
    createSecureContext({ cert: certificate, key })
    return []
  } catch (error) {
    // `reason` is a phrase of OpenSSL; the message might quote the text.
    const reason = error instanceof Error && 'reason' in error ? String(error.reason) : 'something else'
    return [
      {
        path: [...path, 'certificate'],
        message: 'TLS rejects this certificate',
        expected: 'a complete chain in PEM, and a key of at least 2048 bits (RSA) or 224 bits (EC)',
        found: reason,
        hint: 'openssl x509 -text shows the key of the first certificate; check that the last certificate is complete',
      },
    ]
  }
}

const unreadableIssue = (path: KeyPath, what: string): ConfigIssue => ({
  path,
  message: `${what} that cannot be read`,
  expected: `${what} in PEM`,
  found: 'invalid text between BEGIN and END',
  hint: 'check the file: it may be cut short',
})

/** The fields of RFC 9440 in which a proxy sends the client's certificate. */
export const certificateFields = ({ from }: { readonly from: 'connection' | 'client-cert' }): readonly string[] =>
  from === 'client-cert' ? ['client-cert', 'client-cert-chain'] : []
