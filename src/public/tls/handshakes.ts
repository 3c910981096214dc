import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { wallClock } from '../../clock.ts'
import type { ListenTlsConfig } from '../../config/config.ts'
import { contextsOf } from './contexts.ts'
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
