import { constants } from 'node:crypto'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import { factsOf } from '../../config/certificate-facts.ts'
import type { ListenTlsConfig } from '../../config/config.ts'
import { pemBlocks } from '../../config/pem-blocks.ts'

/** Is what the certificates of one configuration are shown by. */
export interface Contexts {
  /** Makes the context of the first certificate, which is for clients that ask for no name, or for one that nobody here has. */
  readonly first: SecureContextOptions
  /** Finds the context for a name; undefined: the first is for it. */
  find(name: string): SecureContext | undefined
}

// Mozilla's intermediate list without its DHE and CBC suites: forward secrecy and AEAD only. See docs/decisions/021.
const suites = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** Makes all contexts of a configuration. Throws when a certificate is not taken, which loading it has found out before. */
export const contextsOf = ({ certificates, minVersion, clientCa, clientCrl }: ListenTlsConfig): Contexts => {
  const shared: SecureContextOptions = {
    minVersion,
    ciphers: suites,
    honorCipherOrder: true,
    // A client that renegotiates has the gateway do the expensive half of a handshake for a few bytes (CVE-2011-1473).
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_COMPRESSION,
    // A ticket is good for no longer, so that nobody comes in on a certificate that has expired long ago.
    sessionTimeout: 300,
    sessionIdContext: 'lender-gateway', // a context takes no session of another
    // One block each: of several lists in one text, only the first would be read.
    ...(clientCa === null ? {} : { ca: clientCa, crl: clientCrl.flatMap(pemBlocks) }),
  }
  const all = certificates.map(({ certificate, key }) => ({ ...shared, cert: certificate, key }))
  const named = new Map<string, SecureContext>()
  for (const options of all) {
    const context = createSecureContext(options)
    // The first that has a name is for it.
    for (const name of factsOf(options.cert).names) if (!named.has(name)) named.set(name, context)
  }
  const [first = shared] = all
  return {
    first,
    find(asked) {
      const name = asked.toLowerCase()
      // A wildcard stands for one label (RFC 9525 §6.3).
      return named.get(name) ?? named.get(name.replace(/^[^.]+/, '*'))
    },
  }
}
