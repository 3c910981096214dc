import { readSync } from 'node:fs'
import { connect as connectTcp, type LookupFunction, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, TLSSocket } from 'node:tls'
import type { UpstreamTlsConfig } from '../../config/config.ts'
import { GatewayError, type ReasonFor } from '../../exchange/failures/errors.ts'
import { CoalescedTimer, epochMs } from '../../lib/clock.ts'
import { getFileDescriptor } from '../../lib/file-descriptor.ts'
import { weakMemo } from '../../lib/memo.ts'
import { toServerName, trustAnchors } from '../../lib/net/tls.ts'
import { connectFailedError, tlsFailedError } from '../classify-error.ts'
import { lookupHostname } from '../endpoints/dns.ts'
import { getEndpointCertificates } from '../endpoints/endpoint-certificates.ts'

interface ConnectorOptions {
  /** The limit until there is a connection, TLS included; null: no limit. */
  readonly timeoutMs: number | null
  readonly tls: UpstreamTlsConfig
}

/** Called with a connection, or why there is none. Not called when the socket is destroyed before. */
export type OnConnected = (error: GatewayError | null, socket: Socket | null) => void

/**
 * Makes a connection. The socket is returned at once, so that a caller that no longer waits for it can destroy it.
 * `onread` takes the bytes without a stream in between (see `net.connect`).
 */
export type Connector = (onConnected: OnConnected, onread?: OnReadOpts) => Socket

// How long a connection may be silent before the system asks whether the endpoint is still there, in milliseconds.
const tcpKeepAliveMs = 60_000

/**
 * Creates the connector of one origin, limited by the gateway's own timer. It fails with `connect-failed`,
 * `connect-timeout` or `tls-failed`; in each case nothing of a request was sent. `lookup` replaces the system's.
 *
 * The certificate is verified against the endpoint's own name, or `serverName`, and never against the Host that is
 * sent, which with `host: client` is the client's to choose. Each connector has a TLS session of its own: a session
 * that began without a client certificate must not stand in for one with it. Where the certificate ends soon, no
 * session is resumed: its successor is seen at once, and its end is too.
 */
export const createConnector = (
  origin: string,
  { timeoutMs, tls }: ConnectorOptions,
): ((lookup?: LookupFunction) => Connector) => {
  const { protocol, hostname, host: authority, port } = new URL(origin)
  const isTls = protocol === 'https:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const certificates = isTls ? getEndpointCertificates(tls, authority) : null
  return (lookup = lookupHostname) => {
    let session: Buffer | undefined
    const openSocket = (onread: OnReadOpts | undefined, resolve: LookupFunction): Socket => {
      const target = { host, lookup: resolve, ...(onread !== undefined && { onread }) }
      if (!isTls) return connectTcp({ ...target, port: Number(port || 80) })
      const isEnding = certificates?.isExpiringSoon(epochMs()) === true
      const socket = connectTls({
        ...target,
        port: Number(port || 443),
        secureContext: getSecureContext(tls),
        // Set either way: otherwise NODE_TLS_REJECT_UNAUTHORIZED would decide.
        rejectUnauthorized: tls.verify,
        servername: tls.serverName ?? toServerName(host),
        ALPNProtocols: ['http/1.1'],
        ...(session !== undefined && !isEnding && { session }),
      })
      socket.on('session', (next) => {
        session = next
      })
      return socket
    }

    return (onConnected, onread) => {
      let timedOut: GatewayError | null = null
      let isConnected = false
      let isResolving = false
      const socket = openSocket(onread, (name, options, callback) => {
        isResolving = true
        lookup(name, options, (...found) => {
          isResolving = false
          callback(...found)
        })
      })
      const timer = new CoalescedTimer(() => {
        timedOut = new GatewayError('connect-timeout', { reason: timeoutReason(isResolving, isConnected) })
        socket.destroy(timedOut)
      })
      const onError = (error: Error): void => {
        timer.clear()
        onConnected(timedOut ?? (isTls && isConnected ? tlsFailedError(error) : connectFailedError(error)), null)
      }
      socket.setNoDelay(true).setKeepAlive(true, tcpKeepAliveMs)
      socket.once('connect', () => {
        isConnected = true
      })
      socket.once('error', onError)
      // Destroyed by the caller.
      socket.once('close', () => timer.clear())
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        timer.clear()
        socket.off('error', onError)
        if (socket instanceof TLSSocket) certificates?.record(socket, epochMs())
        onConnected(null, socket)
      })
      timer.set(timeoutMs)
      return socket
    }
  }
}

/** Returns what timed out: the lookup of the name, the connection, or TLS on it. */
const timeoutReason = (isResolving: boolean, isConnected: boolean): ReasonFor<'connect-timeout'> =>
  isConnected ? 'no-tls-in-time' : isResolving ? 'name-server-silent' : 'not-connected-in-time'

/**
 * Reads the authorities and certificates once, not for each connection or endpoint: the public authorities alone take
 * about a millisecond. A group has hundreds of endpoints, each opened and checked with the same settings.
 */
const getSecureContext = weakMemo(({ ca, certificate, key, minVersion }: UpstreamTlsConfig) =>
  createSecureContext({
    ...trustAnchors,
    minVersion,
    ...(ca !== null && { ca }),
    ...(certificate !== null && key !== null && { cert: certificate, key }),
  }),
)

/**
 * The longest margin between the last use of an idle connection and its end, in milliseconds. It covers the round trip,
 * and a late timer on either side.
 */
export const maxReuseMarginMs = 500

/** The share of a short idle time that is the margin. */
const marginShare = 1 / 4

/**
 * Returns for how long a connection may be idle and still be used, where it is closed after so many milliseconds: that
 * time less a margin. The peer counts from the moment it wrote, and a request that is sent in the last moment arrives
 * after it (RFC 9112 §9.6).
 */
export const reusableMs = (closedAfterMs: number): number =>
  closedAfterMs - Math.min(maxReuseMarginMs, closedAfterMs * marginShare)

/**
 * From this idle time on, in milliseconds, a connection is checked. A busy one is spared the system call and its error
 * (3 µs).
 */
export const checkAfterIdleMs = 10

const byte = Buffer.alloc(1)

/**
 * Returns whether nothing has come on an idle connection: no end (FIN, RST, close_notify), and no unrequested bytes. It
 * asks the kernel: the event loop would notice an end in its next turn, when the request has been written. After
 * `false` the socket must be destroyed: a byte may have been taken from it. TLS may have reasons of its own to send a
 * record (RFC 8446 §4.6); then it costs a connection and no request.
 */
export const isSilent = (socket: Socket): boolean => {
  const descriptor = getFileDescriptor(socket)
  if (descriptor === null) return true
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0 // a stack would cost as much again, and is not read
  try {
    readSync(descriptor, byte)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN'
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
