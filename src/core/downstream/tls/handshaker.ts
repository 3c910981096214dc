import { constants, hash, hkdfSync } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import {
  createSecureContext,
  createServer,
  type SecureContext,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
} from 'node:tls'
import { pemBlocks, readCertificateFacts } from '../../config/certificates.ts'
import type { ListenTlsConfig } from '../../config/config.ts'
import { epochMs } from '../../lib/clock.ts'
import { setTrustAnchors, trustAnchors, withoutRootDot } from '../../lib/net/tls.ts'

/** For one configuration: handshakes under way keep theirs. `protocols`: best first. Throws on a bad certificate. */
export const createHandshaker = (tls: ListenTlsConfig, protocols: readonly string[], ticketSecret: string) => {
  const { defaultOptions, find } = createSniContexts(tls)
  let epoch = getTicketEpoch()
  // Never listens. One for each configuration, so that all of it takes effect at once.
  const contextOptions = { ...defaultOptions, ticketKeys: deriveTicketKeys(ticketSecret, tls, epoch) }
  const server = createServer({
    ...contextOptions,
    requestCert: tls.clientCertificates !== 'none',
    rejectUnauthorized: tls.clientCertificates === 'required',
    ALPNProtocols: [...protocols],
    // Node's own list never forgets a name, and matches a wildcard with any number of labels.
    SNICallback: (name, done) => done(null, find(name)),
  })
  if (defaultOptions.allowPartialTrustChain) setTrustAnchors(server, contextOptions)
  // Node's connection listener: it emits the TLS socket, never the raw one.
  const [accept] = server.listeners('connection')
  /** After a failure, the connection is closed or closes soon. The client's bytes are unread, or were put back. */
  return (socket: Socket, onEnd: (failure: string | null, secured: TLSSocket) => void): void => {
    if (getTicketEpoch() !== epoch) {
      epoch = getTicketEpoch()
      server.setTicketKeys(deriveTicketKeys(ticketSecret, tls, epoch))
    }
    // So each connection gets a server object that inherits from this one and emits elsewhere.
    const events = new EventEmitter()
    events.on('secureConnection', (secured: TLSSocket) => {
      const rejection = checkClientCertificate(secured, tls)
      if (rejection !== null) secured.on('error', () => {}).destroy()
      onEnd(rejection, secured)
    })
    events.on('tlsClientError', (error: NodeJS.ErrnoException, broken: TLSSocket) =>
      onEnd(getAuthorizationError(broken) ?? error.code ?? error.message, broken),
    )
    const connectionServer: Server = Object.create(server)
    connectionServer.emit = events.emit.bind(events)
    accept?.call(connectionServer, socket)
  }
}

/** Null: accepted. A resumed session keeps the verdict of its first handshake. */
const checkClientCertificate = (socket: TLSSocket, { clientCertificates }: ListenTlsConfig): string | null => {
  if (clientCertificates === 'none') return null
  // `authorized` is true for every resumed TLS 1.3 session, even without a certificate.
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return clientCertificates === 'required' ? 'no certificate' : null
  // TLS 1.3 gives a new ticket at each resumption: a chain of tickets could outlive the certificate.
  if (certificate.validToDate.getTime() < epochMs()) return 'CERT_HAS_EXPIRED'
  return socket.authorized ? null : (getAuthorizationError(socket) ?? 'not authorized')
}

const getAuthorizationError = ({ authorizationError }: TLSSocket): string | null =>
  // A code, though Node's types say Error.
  authorizationError === null || authorizationError === undefined ? null : String(authorizationError)

// Mozilla's intermediate list without DHE and CBC: forward secrecy and AEAD only (decision 021).
const cipherSuites = [
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

const createSniContexts = ({ certificates, minVersion, clientCa, clientCrl }: ListenTlsConfig) => {
  const shared: SecureContextOptions = {
    minVersion,
    ciphers: cipherSuites,
    honorCipherOrder: true,
    // Renegotiation makes the gateway do the expensive half of a handshake for a few bytes (CVE-2011-1473).
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_COMPRESSION,
    sessionTimeout: sessionTimeoutSeconds,
    sessionIdContext: 'lender-gateway', // contexts take no sessions of each other
    ...(clientCa !== null && { ca: clientCa }),
    // With lists, OpenSSL wants a list of each authority up to the root.
    ...(clientCrl.length === 0
      ? trustAnchors
      : // One block each: OpenSSL reads only the first list of a text.
        { crl: clientCrl.flatMap(pemBlocks) }),
  }
  const all = certificates.map(({ certificate, key }) => ({ ...shared, cert: certificate, key }))
  const contextByName = new Map<string, SecureContext>()
  for (const options of all) {
    const context = createSecureContext(options)
    // The first certificate with a name serves it.
    for (const name of readCertificateFacts(options.cert).names)
      if (!contextByName.has(name)) contextByName.set(name, context)
  }
  const [defaultOptions = shared] = all
  return {
    /** The first certificate, for clients that send no name or an unknown one. */
    defaultOptions,
    find(serverName: string): SecureContext | undefined {
      // RFC 6066 §3 has no final dot, but some clients send one.
      const name = withoutRootDot(serverName.toLowerCase())
      // A wildcard is one label (RFC 9525 §6.3).
      return contextByName.get(name) ?? contextByName.get(name.replace(/^[^.]+/, '*'))
    },
  }
}

/** RFC 8446 §4.6.1. Short, so that no session much outlives a client's certificate. */
const sessionTimeoutSeconds = 300

const dayMs = 24 * 3_600_000

const getTicketEpoch = (): number => Math.floor(epochMs() / dayMs)

/**
 * Workers with the same secret resume each other's sessions. A ticket carries the verdict on the client's certificate,
 * so the keys change with that verdict's settings, and daily: a thief of keys decrypts one day's TLS 1.2 traffic.
 */
export const deriveTicketKeys = (
  secret: string,
  { clientCertificates, clientCa, clientCrl }: Pick<ListenTlsConfig, 'clientCertificates' | 'clientCa' | 'clientCrl'>,
  epoch: number,
): Buffer => {
  // Node takes at most 1024 bytes here; one authority may have more.
  const clientAuthDigest = hash('sha256', JSON.stringify([clientCertificates, clientCa, clientCrl]))
  return Buffer.from(hkdfSync('sha256', secret, '', `tickets ${epoch} ${clientAuthDigest}`, 48))
}
