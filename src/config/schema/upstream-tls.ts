import * as z from 'zod'
import { serverName } from './address.ts'
import { certificateText, keyText } from './pem.ts'
import { scalar } from './scalar.ts'
import { boolean, choice, orNone } from './values.ts'

/** Describes how endpoints are spoken to over TLS; carries the built-in values. What has none may be `none` where a level below states it. */
export const upstreamTlsSchema = z
  .strictObject({
    ca: scalar(
      orNone(certificateText),
      'Whom to trust instead of the public authorities; file:PATH for a file',
    ).optional(),
    certificate: scalar(orNone(certificateText), 'What the gateway shows for itself, with its chain').optional(),
    key: scalar(orNone(keyText), 'The private key of the certificate').optional(),
    serverName: scalar(
      orNone(serverName),
      "The name to ask for and to verify, instead of the endpoint's own",
    ).optional(),
    minVersion: choice('The oldest version of TLS that is spoken', ['TLSv1.2', 'TLSv1.3']).prefault('TLSv1.2'),
    verify: boolean('false: whoever answers is believed. Takes insecure: true').prefault(true),
    insecure: boolean('true: verify: false is meant').prefault(false),
  })
  .meta({ description: 'How endpoints with https:// are spoken to' })
