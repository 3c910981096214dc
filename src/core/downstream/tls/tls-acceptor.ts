import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ListenConfig, ListenTlsConfig } from '../../config/config.ts'
import { CoalescedTimer, now } from '../../lib/clock.ts'
import type { Log } from '../../log/log.ts'
import { getConnectionClaims, getRemoteAddress } from '../listener/listener-config.ts'
import { createHandshaker } from './handshakes.ts'

interface TlsAcceptorOptions {
  readonly listen: ListenConfig
  readonly tls: ListenTlsConfig
  readonly log: Log
  readonly ticketSecret: string
  /** The protocols that are spoken behind it, best first, as ALPN names them. */
  readonly protocols: readonly string[]
  /** Called with each completed handshake first. `getGroup` finds the number of the group of its key exchange. */
  onHandshake(socket: TLSSocket, getGroup: (socket: TLSSocket) => number): void
  /** Called with the TLS socket of a client that has completed the handshake, and the connection below it. */
  onSecure(socket: TLSSocket, raw: Socket): void
  /** Called with the connection of a client that does not speak TLS, and its first bytes. */
  onPlaintext(socket: Socket, first: Buffer): void
}

/** Creates what stands between an accepted connection and the server that speaks HTTP on it. */
export const createTlsAcceptor = ({
  listen,
  tls,
  log,
  ticketSecret,
  protocols,
  onHandshake,
  onSecure,
  onPlaintext,
}: TlsAcceptorOptions) => {
  const logFailure = createHandshakeLog(log)
  let startHandshake = createHandshaker(tls, protocols, ticketSecret)
  let appliedTls = JSON.stringify(tls)
  let timeoutMs = listen.timeouts.headers

  return {
    /** Takes a connection of which nothing has been read. */
    accept(socket: Socket): void {
      const client = getRemoteAddress(socket)
      const authority = getConnectionClaims(socket)?.authority ?? undefined
      // From the first moment to the last of the handshake, and then once more for a head.
      const timer = new CoalescedTimer(() => {
        logFailure(client, 'timeout', authority)
        socket.destroy()
      })
      timer.set(timeoutMs)
      socket.on('error', () => {}) // an error without a TLS socket on it to report it: there may be none yet
      socket.once('close', () => timer.clear())
      // At the first bytes and not at once: the response to a client that speaks plain HTTP goes out by the socket as
      // it is.
      socket.once('readable', () => {
        const first: Buffer | null = socket.read()
        if (first === null) return void socket.destroy()
        if (isPlaintext(first)) {
          timer.clear()
          return onPlaintext(socket, first)
        }
        socket.unshift(first)
        startHandshake(socket, (failure, tlsSocket) => {
          timer.clear()
          if (failure !== null) return logFailure(client, failure, authority)
          onHandshake(tlsSocket, getNegotiatedGroup)
          onSecure(tlsSocket, socket)
        })
      })
    },
    /**
     * Prepares a new configuration, and returns what applies it: it holds for clients that connect from then on. Throws
     * when a certificate is not accepted.
     */
    prepareConfig({ tls, timeouts }: ListenConfig): () => void {
      const next = JSON.stringify(tls)
      const handshaker = tls === null || next === appliedTls ? null : createHandshaker(tls, protocols, ticketSecret)
      return () => {
        timeoutMs = timeouts.headers
        if (handshaker === null) return
        startHandshake = handshaker
        appliedTls = next
      }
    },
  }
}

/**
 * Returns whether the first byte is not of TLS: a record begins with its type, 22, and a hello of SSLv2 with its
 * length, 128 or more.
 */
const isPlaintext = ([byte = 0]: Buffer): boolean => (byte >= 32 && byte < 127) || byte === 13 || byte === 10

const logIntervalMs = 1000

/** Logs a failed handshake. `authority` is the name that the load balancer in front was asked for, if it said so. */
type LogHandshakeFailure = (client: string, reason: string, authority?: string) => void

/**
 * Logs failed handshakes at a limited rate, since any client can cause as many as it likes: one line a second, which
 * counts those that it stands for. A client that connects and leaves again, as a probe of a load balancer does, is
 * logged at debug.
 */
export const createHandshakeLog = (log: Log): LogHandshakeFailure => {
  let next = 0
  let unlogged = 0
  return (client, reason, authority) => {
    if (reason === 'ECONNRESET') return log.debug({ client, authority, reason }, 'handshake failed')
    const at = now()
    if (at < next) return void unlogged++
    next = at + logIntervalMs
    log.warn({ client, authority, reason, unlogged }, 'handshake failed')
    unlogged = 0
  }
}

// [19] of SSL_SESSION_ASN1 in OpenSSL's ssl/ssl_asn1.c: an INTEGER.
const groupTag = 0xb3

/**
 * Finds the group in which the keys of a client's connection were exchanged, by its number in IANA's TLS Supported
 * Groups; 0: not said. Node tells it to clients alone (`getEphemeralKeyInfo`), but OpenSSL writes it into the session.
 * That holds secrets, so it is wiped.
 */
export const getNegotiatedGroup = (socket: TLSSocket): number => {
  const session = socket.getSession()
  if (session === undefined || session === null) return 0
  const group = readNegotiatedGroup(session)
  session.fill(0)
  return group
}

/** Reads the group from a session in DER, member by member; 0: there is none. */
export const readNegotiatedGroup = (session: Buffer): number => {
  for (let at = contentStart(session, 0); at < session.length; ) {
    const start = contentStart(session, at)
    const end = start + contentLength(session, at)
    const bytes = end - start - 2 // behind the tag and the length of the INTEGER
    if (session[at] === groupTag)
      return bytes >= 1 && bytes <= 4 && end <= session.length ? session.readUIntBE(start + 2, bytes) : 0
    at = end
  }
  return 0
}

// A length of 128 or more is the number of the bytes that hold it (X.690 §8.1.3).
const contentStart = (der: Buffer, at: number): number => {
  const length = der[at + 1] ?? 0
  return at + 2 + (length < 128 ? 0 : length & 127)
}

const contentLength = (der: Buffer, at: number): number => {
  let length = der[at + 1] ?? 0
  if (length < 128) return length
  const end = contentStart(der, at)
  length = 0
  for (let each = at + 2; each < end; each++) length = length * 256 + (der[each] ?? 0)
  return length
}
