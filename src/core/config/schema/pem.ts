import type * as z from 'zod'
import { annotate } from './annotations.ts'
import { InvalidScalar, type ScalarKind, scalar, textParser } from './scalar.ts'
import { orNone } from './scalar-kinds.ts'

const pemKind = (what: string, label: RegExp): ScalarKind<string> => ({
  expected: `${what} in PEM, or file: and a path`,
  parse: textParser((value) => {
    if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(value))
      return new InvalidScalar('a key with a password', 'decrypt it: openssl pkey -in KEY -out PLAIN')
    return label.test(value) ? value : new InvalidScalar(`not ${what} in PEM`, 'write file: and the path of a PEM file')
  }),
  json: { type: 'string' },
})

/** Allows `file:` for a schema, and hides its values everywhere: certificates too, which no operator reads. */
const fileSecret = <S extends z.ZodType>(schema: S): S => annotate(schema, { secret: true, file: 'lines' })

const certificateKind = pemKind('a certificate', /-----BEGIN CERTIFICATE-----/)
const privateKeyKind = pemKind('a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/)
const revocationListKind = pemKind('a list of revoked certificates', /-----BEGIN X509 CRL-----/)

/** The schema of one or more certificates in PEM. It does not check what stands between BEGIN and END. */
export const certificate = (description: string) => fileSecret(scalar(certificateKind, description))

export const optionalCertificate = (description: string) => fileSecret(scalar(orNone(certificateKind), description))

export const revocationList = (description: string) => fileSecret(scalar(revocationListKind, description))

export const privateKey = (description: string) => fileSecret(scalar(privateKeyKind, description))

export const optionalPrivateKey = (description: string) => fileSecret(scalar(orNone(privateKeyKind), description))
