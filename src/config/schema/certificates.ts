import { scalar, Wrong } from './scalar.ts'

const expected = 'dns:, uri: or email: and a name, or sha256: and a fingerprint'

/**
 * Reads a name by which a client's certificate is known: one of those that stand in it, spelled as the layer compares them, or the SHA-256 of the
 * whole of it, which comes out in base64url.
 */
export const certificateName = (description: string) =>
  scalar<string>(
    {
      expected,
      read: (value) => (typeof value === 'string' ? readCertificateName(value) : new Wrong('wrong type')),
      json: { type: 'string', pattern: '^(dns|uri|email|sha256):.+$' },
    },
    description,
  )

/** Spells a name as all of them are compared. */
export const readCertificateName = (text: string): string | Wrong => {
  const [, kind = '', name = ''] = /^([a-z0-9]+):(.*)$/.exec(text) ?? []
  if (!Object.hasOwn(readers, kind)) return new Wrong('not the name of a certificate', hintFor(text))
  const read = readers[kind as keyof typeof readers](name)
  return read instanceof Wrong ? read : `${kind}:${read}`
}

const readers = {
  dns: (name: string): string | Wrong => {
    if (name.includes('*')) return new Wrong('not a host name', 'write each name: there are no wildcards')
    return hostName.test(name) ? name.toLowerCase() : new Wrong('not a host name')
  },
  uri: (name: string): string | Wrong =>
    /^[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x7e]+$/.test(name) ? name : new Wrong('not an absolute URI'),
  email: (name: string): string | Wrong =>
    /^[\x21-\x7e]+@[\x21-\x7e]+$/.test(name) ? name : new Wrong('not an address'),
  sha256: (name: string): string | Wrong => {
    if (/^[\w-]{43}$/.test(name)) return name
    const hex = name.replaceAll(':', '')
    if (/^[0-9a-f]{64}$/i.test(hex)) return Buffer.from(hex, 'hex').toString('base64url')
    return new Wrong('not a SHA-256', 'openssl x509 -noout -fingerprint -sha256 -in CERTIFICATE')
  },
}

const hostName = /^(?=.{1,253}$)[0-9a-z_]([0-9a-z_-]*[0-9a-z_])?(\.[0-9a-z_]([0-9a-z_-]*[0-9a-z_])?)*$/i

const hintFor = (value: string): string | undefined => {
  if (/^(DNS|URI|EMAIL|SHA256):/i.test(value)) return 'write the kind in lower case'
  if (hostName.test(value)) return `write dns:${value}`
  return undefined
}
