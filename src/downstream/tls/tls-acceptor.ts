import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { CoalescedTimer, now } from '../../clock.ts'
import type { ListenConfig, ListenTlsConfig } from '../../config/config.ts'
import type { Log } from '../../observe/log.ts'
import { normalizeAddress } from '../listener/peer.ts'
import { createHandshaker } from './handshakes.ts'

/** Stands between a connection that was accepted and whoever speaks HTTP on it. */
export interface TlsAcceptor {
  /** Takes a connection of which nothing has been read. */
  accept(socket: Socket): void
  /** Takes over a new configuration: it holds for whoever connects from now on. */
  applyConfig(listen: ListenConfig): void
}

export interface TlsAcceptorOptions {
  readonly listen: ListenConfig
  readonly tls: ListenTlsConfig
  readonly log: Log
  readonly ticketSecret: string
  /** What is spoken behind it, best first, as ALPN names it. */
  readonly protocols: readonly string[]
  /** Hears of a client that has come through, on what its connection has become. */
  onSecure(socket: TLSSocket, raw: Socket): void
  /** Takes the connection of a client that does not speak TLS, with the first that it said. */
  onPlaintext(socket: Socket, first: Buffer): void
}

/** Opens the gate of a listener that speaks TLS. */
export const createTlsAcceptor = ({
  listen,
  tls,
  log,
  ticketSecret,
  protocols,
  onSecure,
  onPlaintext,
}: TlsAcceptorOptions): TlsAcceptor => {
  const logFailure = createHandshakeLog(log)
  let startHandshake = createHandshaker(tls, protocols, ticketSecret)
  let appliedTls = JSON.stringify(tls)
  let timeoutMs = listen.timeouts.headers

  return {
    accept(socket) {
      const client = normalizeAddress(socket.remoteAddress ?? '')
      // From the first moment to the last of the handshake, and then once more for a head.
      const timer = new CoalescedTimer(() => {
        logFailure(client, 'timeout')
        socket.destroy()
      })
      timer.set(timeoutMs)
      socket.on('error', () => {}) // one that is not told by what stands on it: there may be nothing yet
      socket.once('close', () => timer.clear())
      // At the first bytes and not at once: the answer to whoever speaks plain HTTP goes out by the socket as it is.
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
          if (failure === null) onSecure(tlsSocket, socket)
          else logFailure(client, failure)
        })
      })
    },
    applyConfig({ tls, timeouts }) {
      timeoutMs = timeouts.headers
      const next = JSON.stringify(tls)
      if (tls === null || next === appliedTls) return
      startHandshake = createHandshaker(tls, protocols, ticketSecret)
      appliedTls = next
    },
  }
}

/** Tells whether what was said first is not TLS: a record begins with its type, 22, and a greeting of SSLv2 with its length, 128 or more. */
const isPlaintext = ([byte = 0]: Buffer): boolean => (byte >= 32 && byte < 127) || byte === 13 || byte === 10

const logIntervalMs = 1000

/**
 * Logs handshakes that failed, at a bounded rate, since anybody can cause as many as he likes: one line a second, which
 * counts those that it stands for. Who connects and leaves again, as a probe of a load balancer does, is of interest to
 * nobody.
 */
export const createHandshakeLog = (log: Log): ((client: string, reason: string) => void) => {
  let next = 0
  let unlogged = 0
  return (client, reason) => {
    if (reason === 'ECONNRESET') return log.debug({ client, reason }, 'handshake failed')
    const at = now()
    if (at < next) return void unlogged++
    next = at + logIntervalMs
    log.warn({ client, reason, unlogged }, 'handshake failed')
    unlogged = 0
  }
}
