import { InvalidScalar, scalar, textParser } from './scalar.ts'

const expected = 'dns:, uri: or email: and a name, or sha256: and a fingerprint'

/**
 * The schema of the name of a client certificate: a name that stands in it, in the spelling that is compared, or the
 * SHA-256 of the whole certificate, parsed to base64url.
 */
export const certificateName = (description: string) =>
  scalar<string>(
    {
      expected,
      parse: textParser(parseCertificateName),
      json: { type: 'string', pattern: '^(dns|uri|email|sha256):.+$' },
    },
    description,
  )

/** Parses a certificate name into the spelling that is compared. */
export const parseCertificateName = (text: string): string | InvalidScalar => {
  const [, kind = '', name = ''] = /^([a-z0-9]+):(.*)$/.exec(text) ?? []
  if (!Object.hasOwn(nameParsers, kind))
    return new InvalidScalar('not the name of a certificate', certificateNameHint(text))
  const read = nameParsers[kind as keyof typeof nameParsers](name)
  return read instanceof InvalidScalar ? read : `${kind}:${read}`
}

const nameParsers = {
  dns: (name: string): string | InvalidScalar => {
    if (name.includes('*')) return new InvalidScalar('not a host name', 'write each name: there are no wildcards')
    return hostName.test(name) ? name.toLowerCase() : new InvalidScalar('not a host name')
  },
  uri: (name: string): string | InvalidScalar =>
    /^[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x7e]+$/.test(name) ? name : new InvalidScalar('not an absolute URI'),
  email: (name: string): string | InvalidScalar =>
    /^[\x21-\x7e]+@[\x21-\x7e]+$/.test(name) ? name : new InvalidScalar('not an address'),
  sha256: (name: string): string | InvalidScalar => {
    if (/^[\w-]{43}$/.test(name)) return name
    const hex = name.replaceAll(':', '')
    if (/^[0-9a-f]{64}$/i.test(hex)) return Buffer.from(hex, 'hex').toString('base64url')
    return new InvalidScalar('not a SHA-256', 'openssl x509 -noout -fingerprint -sha256 -in CERTIFICATE')
  },
}

const hostName = /^(?=.{1,253}$)[0-9a-z_]([0-9a-z_-]*[0-9a-z_])?(\.[0-9a-z_]([0-9a-z_-]*[0-9a-z_])?)*$/i

const certificateNameHint = (value: string): string | undefined => {
  if (/^(DNS|URI|EMAIL|SHA256):/i.test(value)) return 'write the kind in lower case'
  if (hostName.test(value)) return `write dns:${value}`
  return undefined
}
