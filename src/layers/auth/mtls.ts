import type { X509Certificate } from 'node:crypto'
import { type CertificateOf, thumbprintOf } from './certificate.ts'
import type { Clients } from './clients.ts'
import { type Method, type Proved, unproved } from './method.ts'
import { Refused } from './refused.ts'

// There is no registered scheme for what happens below HTTP; RFC 9110 §11.6.1 asks for some challenge.
const challenge = 'ClientCertificate realm="lender-gateway"'

/** Proves who calls by the certificate that it has shown. `fields` are those that it may have come in. */
export const mtls = (certificateOf: CertificateOf, clients: Clients, fields: readonly string[]): Method => {
  const proved = new WeakMap<X509Certificate, Proved>()
  return {
    name: 'mtls',
    fields,
    challenge,
    applies: (exchange) => certificateOf(exchange) !== null,
    prove(exchange) {
      const shown = certificateOf(exchange)
      if (shown === null || shown instanceof Refused)
        throw unproved(challenge, shown?.reason ?? 'no-certificate', shown?.message ?? 'there is no certificate')
      const known = proved.get(shown) ?? find(shown, clients)
      proved.set(shown, known)
      return known
    },
  }
}

/** Finds whose certificate it is. One that has names of several clients is of none: which of them is meant, nobody knows. */
const find = (certificate: X509Certificate, clients: Clients): Proved => {
  const names = [`sha256:${thumbprintOf(certificate)}`, ...namesOf(certificate)]
  const [client = null, ...others] = new Set(names.flatMap((name) => clients.byCertificate(name) ?? []))
  if (others.length > 0) throw unproved(challenge, 'ambiguous-certificate', 'its certificate is of several clients')
  return { client, token: null }
}

// How Node names the kinds that clients are known by. Directory names, addresses and what is in none of these words name nobody.
const kinds: Readonly<Record<string, string>> = { DNS: 'dns', URI: 'uri', email: 'email' }

// One name and what follows it. Node writes a value that holds a comma, a quote or anything unusual as a JSON string (CVE-2021-44532): what is
// in quotes is never cut.
const one = /([A-Za-z0-9][A-Za-z0-9 .-]*):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y

/**
 * Lists the names that a certificate is for (RFC 5280 §4.2.1.6), as configuration spells them: `dns:bank-a.example`. The common name is none of
 * them (RFC 9525 §2). Where the list cannot be read to its end, there are none: half of it may mean somebody else.
 */
export const namesOf = ({ subjectAltName }: Pick<X509Certificate, 'subjectAltName'>): readonly string[] => {
  if (subjectAltName === undefined) return []
  const names: string[] = []
  one.lastIndex = 0
  while (one.lastIndex < subjectAltName.length) {
    const [found, kind = '', written = ''] = one.exec(subjectAltName) ?? []
    if (found === undefined) return []
    const name = nameOf(kinds[kind], written)
    if (name !== null) names.push(name)
  }
  return names
}

/** Spells a name as it is compared: that of a host knows no case (RFC 4343), the others are compared as they are. */
export const spelled = (kind: string, value: string): string =>
  `${kind}:${kind === 'dns' ? value.toLowerCase() : value}`

const nameOf = (kind: string | undefined, written: string): string | null => {
  if (kind === undefined) return null
  const value = written.startsWith('"') ? unquoted(written) : written
  // Nobody is configured with such a name: what has control characters in it is meant to be read as another.
  return value === null || !/^[\x21-\x7e]+$/.test(value) ? null : spelled(kind, value)
}

const unquoted = (written: string): string | null => {
  try {
    return String(JSON.parse(written))
  } catch {
    return null
  }
}
