import * as z from 'zod'
import { host, portRange } from './address.ts'
import { mark, optional } from './facts.ts'
import { certificate, privateKey } from './pem.ts'
import { scalar, Wrong } from './scalar.ts'
import { boolean, integer } from './values.ts'

// RFC 6750 §2.1. Whoever guesses at a shorter one over a local network may well succeed.
const leastLength = 16

const token = (description: string) =>
  mark(
    scalar<string>(
      {
        expected: `a token of at least ${leastLength} letters, digits and -._~+/, or file: and a path`,
        read: (value) => {
          if (typeof value !== 'string') return new Wrong('not text', 'put the token in quotes')
          if (!/^[A-Za-z0-9._~+/-]+=*$/.test(value))
            return new Wrong('not a token', 'make one with: openssl rand -hex 32')
          if (value.length < leastLength) return new Wrong('too short', 'make one with: openssl rand -hex 32')
          return value
        },
        json: { type: 'string', pattern: `^(file:.+|[A-Za-z0-9._~+/-]{${leastLength},}=*)$` },
      },
      description,
    ),
    { secret: true, file: 'line' },
  )

const tls = mark(
  z
    .strictObject({
      certificate: certificate('The certificate, with its chain'),
      key: privateKey('The private key of the certificate'),
    })
    .meta({ description: 'Serve HTTPS. A renewed certificate is taken live; on or off needs a restart' }),
  { unquoted: true },
)

/** Describes the operator's listener. */
export const adminSchema = z
  .strictObject({
    host: mark(host('The address to listen on').prefault('127.0.0.1'), { restart: true }),
    port: mark(integer('The port to listen on; 0: any free one', portRange).prefault(9901), { restart: true }),
    hosts: z
      .array(host('A host name'))
      .max(100)
      .meta({ description: 'Further names that may be asked for as Host' })
      .prefault([]),
    token: optional(token('What operators send as Authorization: Bearer …; file:PATH to read it from a file')),
    metricsToken: optional(token('What Prometheus may send instead: it opens /metrics, and nothing else')),
    tls: mark(optional(tls), { restart: true }),
    insecure: boolean('Whether an address that other machines reach may do without TLS').prefault(false),
  })
  .meta({ description: "The operator's listener: health, status, reload. Never public" })
