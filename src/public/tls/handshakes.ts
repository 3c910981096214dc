import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { wallClock } from '../../clock.ts'
import type { ListenTlsConfig } from '../../config/config.ts'
import { contextsOf } from './contexts.ts'
import { ticketKeys, today } from './tickets.ts'

/** Makes the handshakes of one configuration. Those that are under way when another takes its place end as they began. */
export interface Handshakes {
  /** Begins one, on a connection of which nothing has been read, or what was read has been put back. */
  begin(socket: Socket): void
}

export interface HandshakesOptions {
  readonly tls: ListenTlsConfig
  /** What is spoken afterwards, best first, as ALPN names it. */
  readonly protocols: readonly string[]
  /** What the keys of session tickets are made from. */
  readonly ticketSecret: string
  /** Hears of a client that has come through. */
  done(socket: TLSSocket, raw: Socket): void
  /** Hears of one that has not; its connection is closed, or about to be. */
  failed(raw: Socket, reason: string): void
}

/** Prepares them. Throws when a certificate is not taken. */
export const handshakes = ({ tls, protocols, ticketSecret, done, failed }: HandshakesOptions): Handshakes => {
  const { first, find } = contextsOf(tls)
  let day = today()
  // It listens nowhere. One a configuration, so that whatever it says takes effect at once and as a whole.
  const server = createServer({
    ...first,
    ticketKeys: ticketKeys(ticketSecret, tls, day),
    requestCert: tls.client !== null,
    rejectUnauthorized: tls.client?.required ?? false,
    ALPNProtocols: [...protocols],
    // Not the server's own list, which forgets no name; and it would match a wildcard with any number of labels.
    SNICallback: (name, answer) => answer(null, find(name)),
  })
  const secured = (raw: Socket, socket: TLSSocket): void => {
    const fault = faultOf(socket, tls)
    if (fault === null) return done(socket, raw)
    socket.on('error', () => {})
    socket.destroy()
    failed(raw, fault)
  }
  // What takes a connection. It names its TLS socket in all that it tells the server, and never the connection itself.
  const [accept] = server.listeners('connection')
  return {
    begin(socket) {
      if (today() !== day) {
        day = today()
        server.setTicketKeys(ticketKeys(ticketSecret, tls, day))
      }
      // So each connection is taken by a server of its own, which is this one in everything but whom it tells.
      const told = new EventEmitter()
      told.on('secureConnection', (secure: TLSSocket) => secured(socket, secure))
      told.on('tlsClientError', (error: NodeJS.ErrnoException, broken: TLSSocket) =>
        failed(socket, refusalOf(broken) ?? error.code ?? error.message),
      )
      const own: Server = Object.create(server)
      own.emit = told.emit.bind(told)
      accept?.call(own, socket)
    },
  }
}

/** Judges a client by its certificate; null: it may come in. Who resumes a session is judged by what was found when it began. */
const faultOf = (socket: TLSSocket, { client }: ListenTlsConfig): string | null => {
  if (client === null) return null
  // Not `authorized`: Node says so of whoever resumes a session of TLS 1.3, with or without a certificate.
  const shown = socket.getPeerX509Certificate()
  if (shown === undefined) return client.required ? 'no certificate' : null
  // With TLS 1.3 whoever resumes gets a new ticket each time: one after the other, they would outlive the certificate.
  if (shown.validToDate.getTime() < wallClock()) return 'CERT_HAS_EXPIRED'
  return socket.authorized ? null : (refusalOf(socket) ?? 'not authorized')
}

/** Says what is wrong with a certificate that a client has shown: `CERT_REVOKED`. */
const refusalOf = ({ authorizationError }: TLSSocket): string | null =>
  // A code, though Node's types say an error.
  authorizationError === null || authorizationError === undefined ? null : String(authorizationError)
