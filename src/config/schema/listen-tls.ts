import * as z from 'zod'
import { certificateText, keyText, revocationText } from './pem.ts'
import { scalar } from './scalar.ts'
import { choice } from './values.ts'

// Each is parsed at every load, and again when it takes effect.
const most = 100

/** Describes TLS on the public listener. */
export const listenTlsSchema = z
  .strictObject({
    certificates: z
      .array(
        z.strictObject({
          certificate: scalar(certificateText, 'A certificate, with its chain; file:PATH for a file'),
          key: scalar(keyText, 'The private key of the certificate'),
        }),
      )
      .min(1)
      .max(most)
      .meta({ description: 'What is shown to whom asks for one of its names; the first one to everybody else' }),
    minVersion: choice('The oldest version of TLS that is spoken', ['TLSv1.2', 'TLSv1.3']).prefault('TLSv1.2'),
    clientCertificates: choice('Whether clients may, or must, show a certificate', [
      'none',
      'optional',
      'required',
    ]).prefault('none'),
    clientCa: scalar(certificateText, 'Whom to trust to sign certificates of clients; file:PATH for a file').optional(),
    clientCrl: z
      .array(scalar(revocationText, 'A list of revoked certificates; file:PATH for a file'))
      .max(most)
      .meta({ description: 'Revoked certificates of clients; with one, every authority in clientCa needs one' })
      .prefault([]),
  })
  .meta({ description: 'Serve HTTPS. What it holds is renewed live; on or off needs a restart' })
