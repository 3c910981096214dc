import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ListenConfig, ListenTlsConfig } from '../../config/config.ts'
import { CoalescedTimer, now } from '../../lib/clock.ts'
import type { Log } from '../../log/log.ts'
import { getConnectionClaims, getRemoteAddress } from '../listener/listener-config.ts'
import { createHandshaker } from './handshaker.ts'

interface TlsAcceptorOptions {
  readonly listen: ListenConfig
  readonly tls: ListenTlsConfig
  readonly log: Log
  readonly ticketSecret: string
  /** ALPN names, best first. */
  readonly protocols: readonly string[]
  onHandshake(socket: TLSSocket, getGroup: (socket: TLSSocket) => number): void
  onSecure(socket: TLSSocket, raw: Socket): void
  onPlaintext(socket: Socket, first: Buffer): void
}

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
    accept(socket: Socket): void {
      const client = getRemoteAddress(socket)
      const authority = getConnectionClaims(socket)?.authority ?? undefined
      // For the whole handshake; the request's head then has as long again.
      const timer = new CoalescedTimer(() => {
        logFailure(client, 'timeout', authority)
        socket.destroy()
      })
      timer.set(timeoutMs)
      socket.on('error', () => {}) // no TLS socket may report it yet
      socket.once('close', () => timer.clear())
      // The response to plain HTTP goes to the raw socket, so the handshake waits for the first bytes.
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
    /** Returns a function that applies the configuration to later connections. Throws on a bad certificate. */
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

/** A TLS record begins with its type, 22; a hello of SSLv2 with its length, 128 or more. */
const isPlaintext = ([byte = 0]: Buffer): boolean => (byte >= 32 && byte < 127) || byte === 13 || byte === 10

const logIntervalMs = 1000

/** At most one line a second: any client can cause failures. Load balancers' probes are logged at debug. */
export const createHandshakeLog = (log: Log) => {
  let next = 0
  let unlogged = 0
  /** `authority`: the name that the load balancer in front reports. */
  return (client: string, reason: string, authority?: string): void => {
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
 * IANA's TLS Supported Groups; 0: unknown. Node reports it to TLS clients only, but OpenSSL writes it into the session,
 * which holds secrets and is wiped.
 */
export const getNegotiatedGroup = (socket: TLSSocket): number => {
  const session = socket.getSession()
  if (session === undefined || session === null) return 0
  const group = readNegotiatedGroup(session)
  session.fill(0)
  return group
}

/** 0: none. */
export const readNegotiatedGroup = (session: Buffer): number => {
  for (let at = contentStart(session, 0); at < session.length; ) {
    const start = contentStart(session, at)
    const end = start + contentLength(session, at)
    const bytes = end - start - 2 // after the INTEGER's tag and length
    if (session[at] === groupTag)
      return bytes >= 1 && bytes <= 4 && end <= session.length ? session.readUIntBE(start + 2, bytes) : 0
    at = end
  }
  return 0
}

// X.690 §8.1.3: from 128 on, the low 7 bits count the bytes of the length.
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
