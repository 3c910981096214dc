import type * as z from 'zod'
import { mark } from './facts.ts'
import { type Kind, scalar, Wrong } from './scalar.ts'
import { orNone } from './values.ts'

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

/** Marks what may stand in a file of its own and is shown nowhere: certificates too, since nobody reads them. */
const hidden = <S extends z.ZodType>(schema: S): S => mark(schema, { secret: true, file: 'lines' })

const certificates = text('a certificate', /-----BEGIN CERTIFICATE-----/)
const keys = text('a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/)
const revocations = text('a list of revoked certificates', /-----BEGIN X509 CRL-----/)

/** Reads one certificate or several in PEM; what stands between BEGIN and END is not looked at here. */
export const certificate = (description: string) => hidden(scalar(certificates, description))

/** Reads one certificate or several, or `none`/`false` for null. */
export const optionalCertificate = (description: string) => hidden(scalar(orNone(certificates), description))

/** Reads one list of revoked certificates or several in PEM. */
export const revocationList = (description: string) => hidden(scalar(revocations, description))

/** Reads a private key in PEM. */
export const privateKey = (description: string) => hidden(scalar(keys, description))

/** Reads a private key, or `none`/`false` for null. */
export const optionalPrivateKey = (description: string) => hidden(scalar(orNone(keys), description))
