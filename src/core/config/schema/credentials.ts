import { ownMember } from '../../lib/plain-object.ts'
import { certificateKind, pemKind } from './kinds.ts'
import { scalar } from './scalar.ts'
import { InvalidScalar, textParser } from './scalar-kind.ts'
import { orNone } from './scalar-types.ts'

const privateKeyKind = pemKind('a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/)
const revocationListKind = pemKind('a list of revoked certificates', /-----BEGIN X509 CRL-----/)

export const certificate = (description: string) => scalar(description, certificateKind)

export const optionalCertificate = (description: string) => scalar(description, orNone(certificateKind))

export const revocationList = (description: string) => scalar(description, revocationListKind)

export const privateKey = (description: string) => scalar(description, privateKeyKind)

export const optionalPrivateKey = (description: string) => scalar(description, orNone(privateKeyKind))

export const secretDigest = (description: string, command: string) =>
  scalar<string>(description, {
    expected: `64 hex digits, as lender-gateway ${command} prints them`,
    parse: (value) => {
      if (typeof value !== 'string') return new InvalidScalar('wrong type', 'put it in quotes')
      return /^[0-9a-f]{64}$/i.test(value)
        ? value.toLowerCase()
        : new InvalidScalar('not a SHA-256', `make one with: lender-gateway ${command}`)
    },
    json: { type: 'string', pattern: '^[0-9A-Fa-f]{64}$' },
    secret: true,
  })

/** A name in the client's certificate, or the certificate's SHA-256, which is parsed to base64url. */
export const certificateName = (description: string) =>
  scalar<string>(description, {
    expected: 'dns:, uri: or email: and a name, or sha256: and a fingerprint',
    parse: textParser(parseCertificateName),
    json: { type: 'string', pattern: '^(dns|uri|email|sha256):.+$' },
  })

export const parseCertificateName = (text: string): string | InvalidScalar => {
  const [, kind = '', name = ''] = /^([a-z0-9]+):(.*)$/.exec(text) ?? []
  const parsed = ownMember(nameParsers, kind)?.(name)
  if (parsed === undefined) {
    const bareHint = hostName.test(text) ? `write dns:${text}` : undefined
    const hint = /^(DNS|URI|EMAIL|SHA256):/i.test(text) ? 'write the kind in lower case' : bareHint
    return new InvalidScalar('not the name of a certificate', hint)
  }
  return parsed instanceof InvalidScalar ? parsed : `${kind}:${parsed}`
}

const nameParsers: Readonly<Record<string, (name: string) => string | InvalidScalar>> = {
  dns: (name) => {
    if (name.includes('*')) return new InvalidScalar('not a host name', 'write each name: there are no wildcards')
    return hostName.test(name) ? name.toLowerCase() : new InvalidScalar('not a host name')
  },
  uri: (name) =>
    /^[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x7e]+$/.test(name) ? name : new InvalidScalar('not an absolute URI'),
  email: (name) => (/^[\x21-\x7e]+@[\x21-\x7e]+$/.test(name) ? name : new InvalidScalar('not an address')),
  sha256: (name) => {
    if (/^[\w-]{43}$/.test(name)) return name
    const hex = name.replaceAll(':', '')
    if (/^[0-9a-f]{64}$/i.test(hex)) return Buffer.from(hex, 'hex').toString('base64url')
    return new InvalidScalar('not a SHA-256', 'openssl x509 -noout -fingerprint -sha256 -in CERTIFICATE')
  },
}

const hostName = /^(?=.{1,253}$)[0-9a-z_]([0-9a-z_-]*[0-9a-z_])?(\.[0-9a-z_]([0-9a-z_-]*[0-9a-z_])?)*$/i
