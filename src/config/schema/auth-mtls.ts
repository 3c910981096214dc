import * as z from 'zod'
import { certificateText } from './pem.ts'
import { scalar } from './scalar.ts'
import { choice, orNone } from './values.ts'

/** Describes where certificates of clients come from. */
export const mtls = z
  .strictObject({
    from: choice(
      "Where a client's certificate comes from: its connection, or the Client-Cert field of listen.trustedProxies",
      ['connection', 'client-cert'],
    ).prefault('connection'),
    ca: scalar(
      orNone(certificateText),
      'Who has to have issued what comes in Client-Cert; file:PATH for a file',
    ).prefault('none'),
  })
  .meta({ description: 'Certificates of clients' })
