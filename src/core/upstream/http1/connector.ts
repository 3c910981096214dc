import { connect as connectTcp, type LookupFunction, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, TLSSocket } from 'node:tls'
import type { UpstreamTlsConfig } from '../../config/config.ts'
import { GatewayError, type ReasonFor } from '../../exchange/failures/errors.ts'
import { CoalescedTimer, epochMs } from '../../lib/clock.ts'
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
