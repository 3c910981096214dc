import type { X509Certificate } from 'node:crypto'
import { type CertificateOf, thumbprintOf } from './certificate.ts'
import type { Clients } from './clients.ts'
import { type Method, type Proved, unproved } from './method.ts'
import { Refused } from './refused.ts'
import { namesOf } from './san.ts'

// There is no registered scheme for what happens below HTTP; RFC 9110 §11.6.1 asks for some challenge.
const challenge = 'ClientCertificate realm="lender-gateway"'

/** Proves who calls by the certificate that it has shown. `fields` are those that it may have come in. */
export const mtls = (certificateOf: CertificateOf, clients: Clients, fields: readonly string[]): Method => {
  const proved = new WeakMap<X509Certificate, Proved>()
  return {
    name: 'mtls',
    fields,
    challenge,
    applies: (exchange) => certificateOf(exchange) !== null,
    prove(exchange) {
      const shown = certificateOf(exchange)
      if (shown === null || shown instanceof Refused)
        throw unproved(challenge, shown?.reason ?? 'no-certificate', shown?.message ?? 'there is no certificate')
      const known = proved.get(shown) ?? find(shown, clients)
      proved.set(shown, known)
      return known
    },
  }
}

/** Finds whose certificate it is. One that has names of several clients is of none: which of them is meant, nobody knows. */
const find = (certificate: X509Certificate, clients: Clients): Proved => {
  const names = [`sha256:${thumbprintOf(certificate)}`, ...namesOf(certificate)]
  const known = names.filter((name) => clients.byCertificate(name) !== undefined)
  const [client = null, ...others] = new Set(known.map((name) => clients.byCertificate(name)))
  if (others.length > 0) throw unproved(challenge, 'ambiguous-certificate', 'its certificate is of several clients')
  return { client, token: null }
}
