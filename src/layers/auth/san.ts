import type { X509Certificate } from 'node:crypto'

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
