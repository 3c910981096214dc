import * as z from 'zod'
import { hostOrAddress, portRange } from '../schema/address.ts'
import { annotate, optionalKey } from '../schema/annotations.ts'
import { certificate, privateKey } from '../schema/pem.ts'
import { InvalidScalar, scalar } from '../schema/scalar.ts'
import { boolean, integer } from '../schema/scalar-types.ts'

// An attacker on a local network may well guess a shorter one. The characters are those of RFC 6750 §2.1.
const minTokenLength = 16

const token = (description: string) =>
  annotate(
    scalar<string>(
      {
        expected: `a token of at least ${minTokenLength} letters, digits and -._~+/, or file: and a path`,
        parse: (value) => {
          if (typeof value !== 'string') return new InvalidScalar('not text', 'put the token in quotes')
          if (!/^[A-Za-z0-9._~+/-]+=*$/.test(value))
            return new InvalidScalar('not a token', 'make one with: openssl rand -hex 32')
          if (value.length < minTokenLength)
            return new InvalidScalar('too short', 'make one with: openssl rand -hex 32')
          return value
        },
        json: { type: 'string', pattern: `^(file:.+|[A-Za-z0-9._~+/-]{${minTokenLength},}=*)$` },
      },
      description,
    ),
    { secret: true, file: 'line' },
  )

const tls = annotate(
  z
    .strictObject({
      certificate: certificate('The certificate, with its chain'),
      key: privateKey('The private key of the certificate'),
    })
    .meta({ description: 'Serve HTTPS. A renewed certificate is taken live; on or off needs a restart' }),
  { sensitive: true },
)

/** The schema of `admin`, the operator's listener. */
export const adminSchema = z
  .strictObject({
    host: annotate(hostOrAddress('The address to listen on').prefault('127.0.0.1'), { restart: true }),
    port: annotate(integer('The port to listen on; 0: any free one', portRange).prefault(9901), { restart: true }),
    hosts: z
      .array(hostOrAddress('A host name'))
      .max(100)
      .meta({ description: 'Further names that may be asked for as Host' })
      .prefault([]),
    token: optionalKey(token('What operators send as Authorization: Bearer …; file:PATH to read it from a file')),
    metricsToken: optionalKey(token('What Prometheus may send instead: it opens /metrics, and nothing else')),
    tls: annotate(optionalKey(tls), { restart: true }),
    insecure: boolean('Whether an address that other machines reach may do without TLS').prefault(false),
  })
  .meta({ description: "The operator's listener: health, status, reload. Never public" })
