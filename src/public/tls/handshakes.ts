import { constants } from 'node:crypto'
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
import { wallClock } from '../../clock.ts'
import { factsOf, pemBlocks } from '../../config/certificate.ts'
import type { ListenTlsConfig } from '../../config/config.ts'
import { ticketKeys, today } from './tickets.ts'

/** Hears how a handshake ended. With a reason against it, its connection is closed, or about to be. */
type OnHandshake = (failure: string | null, secured: TLSSocket) => void

/** Begins a handshake, on a connection of which nothing has been read, or what was read has been put back. */
export type Begin = (socket: Socket, ended: OnHandshake) => void

/**
 * Prepares the handshakes of one configuration; those that are under way when another takes its place end as they
 * began. `protocols` are spoken afterwards, best first, as ALPN names them. The keys of session tickets are made from
 * `ticketSecret`. Throws when a certificate is not taken.
 */
export const handshakes = (tls: ListenTlsConfig, protocols: readonly string[], ticketSecret: string): Begin => {
  const { first, find } = contextsOf(tls)
  let day = today()
  // It listens nowhere. One a configuration, so that whatever it says takes effect at once and as a whole.
  const server = createServer({
    ...first,
    ticketKeys: ticketKeys(ticketSecret, tls, day),
    requestCert: tls.clientCertificates !== 'none',
    rejectUnauthorized: tls.clientCertificates === 'required',
    ALPNProtocols: [...protocols],
    // Not the server's own list, which forgets no name; and it would match a wildcard with any number of labels.
    SNICallback: (name, answer) => answer(null, find(name)),
  })
  // What takes a connection. It names its TLS socket in all that it tells the server, and never the connection itself.
  const [accept] = server.listeners('connection')
  return (socket, ended) => {
    if (today() !== day) {
      day = today()
      server.setTicketKeys(ticketKeys(ticketSecret, tls, day))
    }
    // So each connection is taken by a server of its own, which is this one in everything but whom it tells.
    const told = new EventEmitter()
    told.on('secureConnection', (secured: TLSSocket) => {
      const fault = faultOf(secured, tls)
      if (fault !== null) secured.on('error', () => {}).destroy()
      ended(fault, secured)
    })
    told.on('tlsClientError', (error: NodeJS.ErrnoException, broken: TLSSocket) =>
      ended(refusalOf(broken) ?? error.code ?? error.message, broken),
    )
    const own: Server = Object.create(server)
    own.emit = told.emit.bind(told)
    accept?.call(own, socket)
  }
}

/** Judges a client by its certificate; null: it may come in. Who resumes a session is judged by what was found when it began. */
const faultOf = (socket: TLSSocket, { clientCertificates: asked }: ListenTlsConfig): string | null => {
  if (asked === 'none') return null
  // Not `authorized`: Node says so of whoever resumes a session of TLS 1.3, with or without a certificate.
  const shown = socket.getPeerX509Certificate()
  if (shown === undefined) return asked === 'required' ? 'no certificate' : null
  // With TLS 1.3 whoever resumes gets a new ticket each time: one after the other, they would outlive the certificate.
  if (shown.validToDate.getTime() < wallClock()) return 'CERT_HAS_EXPIRED'
  return socket.authorized ? null : (refusalOf(socket) ?? 'not authorized')
}

/** Says what is wrong with a certificate that a client has shown: `CERT_REVOKED`. */
const refusalOf = ({ authorizationError }: TLSSocket): string | null =>
  // A code, though Node's types say an error.
  authorizationError === null || authorizationError === undefined ? null : String(authorizationError)

/** Is what the certificates of one configuration are shown by. */
interface Contexts {
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
const contextsOf = ({ certificates, minVersion, clientCa, clientCrl }: ListenTlsConfig): Contexts => {
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
