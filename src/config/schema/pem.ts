import { type Kind, Wrong } from './scalar.ts'

const text = (what: string, label: RegExp): Kind<string> => ({
  expected: `${what} in PEM, or file: and a path`,
  read: (value) => {
    if (typeof value !== 'string') return new Wrong('wrong type')
    if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(value))
      return new Wrong('a key with a password', 'decrypt it: openssl pkey -in KEY -out PLAIN')
    return label.test(value) ? value : new Wrong(`not ${what} in PEM`, 'write file: and the path of a PEM file')
  },
  json: { type: 'string' },
})

/** Reads one certificate or several in PEM; what stands between BEGIN and END is not looked at here. */
export const certificateText = text('a certificate', /-----BEGIN CERTIFICATE-----/)

/** Reads one list of revoked certificates or several in PEM, as {@link certificateText} does. */
export const revocationText = text('a list of revoked certificates', /-----BEGIN X509 CRL-----/)

/** Reads a private key in PEM, as {@link certificateText} does. */
export const keyText = text('a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/)
