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

/** Called when a handshake has ended. With a failure, its connection is closed, or about to be. */
type OnHandshakeEnd = (failure: string | null, secured: TLSSocket) => void

/** Starts a handshake, on a connection of which nothing has been read, or what was read has been put back. */
type StartHandshake = (socket: Socket, onEnd: OnHandshakeEnd) => void

/**
 * Prepares the handshakes of one configuration; those that are under way when another takes its place end as they
 * began. `protocols` are spoken afterwards, best first, as ALPN names them. The keys of session tickets are derived
 * from `ticketSecret`. Throws when a certificate is not accepted.
 */
export const createHandshaker = (
  tls: ListenTlsConfig,
  protocols: readonly string[],
  ticketSecret: string,
): StartHandshake => {
  const { defaultOptions, find } = createSniContexts(tls)
  let epoch = getTicketEpoch()
  // It does not listen. There is one for each configuration, so that all of it takes effect at once.
  const contextOptions = { ...defaultOptions, ticketKeys: deriveTicketKeys(ticketSecret, tls, epoch) }
  const server = createServer({
    ...contextOptions,
    requestCert: tls.clientCertificates !== 'none',
    rejectUnauthorized: tls.clientCertificates === 'required',
    ALPNProtocols: [...protocols],
    // Not the server's own list, which forgets no name; and it would match a wildcard with any number of labels.
    SNICallback: (name, done) => done(null, find(name)),
  })
  if (defaultOptions.allowPartialTrustChain) setTrustAnchors(server, contextOptions)
  // Node's listener for a connection. It names its TLS socket in all that it emits, and never the connection itself.
  const [accept] = server.listeners('connection')
  return (socket, onEnd) => {
    if (getTicketEpoch() !== epoch) {
      epoch = getTicketEpoch()
      server.setTicketKeys(deriveTicketKeys(ticketSecret, tls, epoch))
    }
    // So each connection is taken by a server of its own: this one in everything but where its events go.
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

/** Checks a client's certificate; null: it may come in. A resumed session is judged by what was found when it began. */
const checkClientCertificate = (socket: TLSSocket, { clientCertificates }: ListenTlsConfig): string | null => {
  if (clientCertificates === 'none') return null
  // Not `authorized`: Node says so of every resumed session of TLS 1.3, with or without a certificate.
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return clientCertificates === 'required' ? 'no certificate' : null
  // With TLS 1.3 a client that resumes gets a new ticket each time: one after the other, they would outlive the
  // certificate.
  if (certificate.validToDate.getTime() < epochMs()) return 'CERT_HAS_EXPIRED'
  return socket.authorized ? null : (getAuthorizationError(socket) ?? 'not authorized')
}

/** Returns what is wrong with a certificate that a client has shown: `CERT_REVOKED`. */
const getAuthorizationError = ({ authorizationError }: TLSSocket): string | null =>
  // A code, though Node's types say an error.
  authorizationError === null || authorizationError === undefined ? null : String(authorizationError)

// Mozilla's intermediate list without its DHE and CBC suites: forward secrecy and AEAD only. See docs/decisions/021.
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

/**
 * Prepares the certificates of one configuration, by the names that clients ask for. Throws when one is not accepted,
 * which loading it has checked before.
 */
const createSniContexts = ({ certificates, minVersion, clientCa, clientCrl }: ListenTlsConfig) => {
  const shared: SecureContextOptions = {
    minVersion,
    ciphers: cipherSuites,
    honorCipherOrder: true,
    // A client that renegotiates makes the gateway do the expensive half of a handshake for a few bytes
    // (CVE-2011-1473).
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_COMPRESSION,
    sessionTimeout: sessionTimeoutSeconds,
    sessionIdContext: 'lender-gateway', // a context takes no session of another
    ...(clientCa !== null && { ca: clientCa }),
    // OpenSSL wants a list of each authority up to the root, and of an anchor below the root it can verify none.
    ...(clientCrl.length === 0
      ? trustAnchors
      : // One block each: of several lists in one text, only the first would be read.
        { crl: clientCrl.flatMap(pemBlocks) }),
  }
  const all = certificates.map(({ certificate, key }) => ({ ...shared, cert: certificate, key }))
  const contextByName = new Map<string, SecureContext>()
  for (const options of all) {
    const context = createSecureContext(options)
    // The first certificate with a name is for it.
    for (const name of readCertificateFacts(options.cert).names)
      if (!contextByName.has(name)) contextByName.set(name, context)
  }
  const [defaultOptions = shared] = all
  return {
    /** The options of the first certificate, for clients that ask for no name, or for an unknown one. */
    defaultOptions,
    /** Finds the context for a name; undefined: the first is for it. */
    find(serverName: string): SecureContext | undefined {
      // RFC 6066 §3 has no dot at its end; clients that take a URL's host as it stands send one.
      const name = withoutRootDot(serverName.toLowerCase())
      // A wildcard stands for one label (RFC 9525 §6.3).
      return contextByName.get(name) ?? contextByName.get(name.replace(/^[^.]+/, '*'))
    },
  }
}

/**
 * How long a client may resume a session, in seconds (RFC 8446 §4.6.1). No client comes in on a certificate that has
 * expired long ago.
 */
const sessionTimeoutSeconds = 300

const dayMs = 24 * 3_600_000

/** Returns the day, for {@link deriveTicketKeys}. */
const getTicketEpoch = (): number => Math.floor(epochMs() / dayMs)

/**
 * Derives the keys of session tickets. Workers with the same secret derive the same keys, so that each resumes the
 * sessions of the others. A ticket carries the verdict on the client's certificate: whenever that would be judged in
 * another way, the keys are others, and the client shows it again. They last a day, so that a thief reads what was sent
 * with them on that day and no other (TLS 1.2).
 */
export const deriveTicketKeys = (
  secret: string,
  { clientCertificates, clientCa, clientCrl }: Pick<ListenTlsConfig, 'clientCertificates' | 'clientCa' | 'clientCrl'>,
  epoch: number,
): Buffer => {
  // Node takes 1024 bytes there, and one authority alone may have more.
  const clientAuthDigest = hash('sha256', JSON.stringify([clientCertificates, clientCa, clientCrl]))
  return Buffer.from(hkdfSync('sha256', secret, '', `tickets ${epoch} ${clientAuthDigest}`, 48))
}
