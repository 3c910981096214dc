import * as z from 'zod'
import { serverName } from './address.ts'
import { mark, optional } from './facts.ts'
import { optionalCertificate, optionalPrivateKey } from './pem.ts'
import { scalar } from './scalar.ts'
import { boolean, choice, orNone } from './values.ts'

/** Describes how endpoints are spoken to over TLS; carries the built-in values. What has none may be `none` where a level below states it. */
export const upstreamTlsSchema = mark(
  z
    .strictObject({
      ca: optional(optionalCertificate('Whom to trust instead of the public authorities; file:PATH for a file')),
      certificate: optional(optionalCertificate('What the gateway shows for itself, with its chain')),
      key: optional(optionalPrivateKey('The private key of the certificate')),
      serverName: optional(
        scalar(orNone(serverName), "The name to ask for and to verify, instead of the endpoint's own"),
      ),
      minVersion: choice('The oldest version of TLS that is spoken', ['TLSv1.2', 'TLSv1.3']).prefault('TLSv1.2'),
      verify: boolean('false: whoever answers is believed. Takes insecure: true').prefault(true),
      insecure: boolean('true: verify: false is meant').prefault(false),
    })
    .meta({ description: 'How endpoints with https:// are spoken to' }),
  { unquoted: true, idle: ({ verify }: { verify: boolean }) => (verify ? ['insecure'] : []) },
)
