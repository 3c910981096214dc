import { connect as connectTcp, isIP, type LookupFunction, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import { CoalescedTimer, epochMs } from '../../clock.ts'
import type { UpstreamTlsConfig } from '../../config/config.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { ReasonFor } from '../../failures/reasons.ts'
import { connectFailedError, tlsFailedError } from '../classify-error.ts'
import { lookupHostname } from '../endpoints/dns-lookup.ts'
import { getEndpointCertificates } from '../endpoints/endpoint-certificates.ts'

interface ConnectorOptions {
  /** Until there is a connection, TLS included; null: no bound. */
  readonly timeoutMs: number | null
  readonly tls: UpstreamTlsConfig
}

/** Hears of a connection, or why there is none. Not called when the socket is destroyed before. */
export type OnConnected = (error: GatewayError | null, socket: Socket | null) => void

/**
 * Makes a connection; the socket is returned at once, so that a caller that no longer waits for it can destroy it. `onread` takes
 * what comes without a stream in between (see `net.connect`).
 */
export type Connector = (onConnected: OnConnected, onread?: OnReadOpts) => Socket

// How long a connection may say nothing before the system asks whether the endpoint is still there, in milliseconds.
const tcpKeepAliveMs = 60_000

/**
 * Makes connections to one origin, bounded by the gateway's own timer. Fails with `connect-failed`, `connect-timeout` or `tls-failed`; in each case
 * nothing of a request was sent. `lookup` replaces the system's.
 *
 * The certificate is verified against the endpoint's own name, or `serverName`, and never against the Host that is sent, which with
 * `host: client` is the client's to choose. Each connector has a TLS session of its own: a session that was
 * begun without a client certificate must not stand in for one with it. Where the certificate ends soon, none is resumed: its successor is seen
 * at once, and its end is too.
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
    const openSocket = (onread: OnReadOpts | undefined): Socket => {
      const target = { host, lookup, ...(onread !== undefined && { onread }) }
      if (!isTls) return connectTcp({ ...target, port: Number(port || 80) })
      const isEnding = certificates?.isExpiringSoon(epochMs()) === true
      const socket = connectTls({
        ...target,
        port: Number(port || 443),
        secureContext: getSecureContext(tls),
        // Said either way, or NODE_TLS_REJECT_UNAUTHORIZED has a say in it.
        rejectUnauthorized: tls.verify,
        // RFC 6066 §3: an address is never indicated.
        servername: tls.serverName ?? (isIP(host) === 0 ? host : ''),
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
      let isResolving = isIP(host) === 0
      const socket = openSocket(onread)
      const alarm = new CoalescedTimer(() => {
        timedOut = new GatewayError('connect-timeout', { reason: timeoutReason(isResolving, isConnected) })
        socket.destroy(timedOut)
      })
      const onError = (error: Error): void => {
        alarm.clear()
        onConnected(timedOut ?? (isTls && isConnected ? tlsFailedError(error) : connectFailedError(error)), null)
      }
      socket.setNoDelay(true).setKeepAlive(true, tcpKeepAliveMs)
      socket.once('lookup', () => {
        isResolving = false
      })
      socket.once('connect', () => {
        isConnected = true
      })
      socket.once('error', onError)
      // Destroyed by the caller.
      socket.once('close', () => alarm.clear())
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        alarm.clear()
        socket.off('error', onError)
        if (socket instanceof TLSSocket) certificates?.record(socket, epochMs())
        onConnected(null, socket)
      })
      alarm.set(timeoutMs)
      return socket
    }
  }
}

/** Names what was waited for when time was up: an address for the name, a connection, or TLS on it. */
const timeoutReason = (isResolving: boolean, isConnected: boolean): ReasonFor<'connect-timeout'> =>
  isConnected ? 'no-tls-in-time' : isResolving ? 'name-server-silent' : 'not-connected-in-time'

// By the settings: a group has hundreds of endpoints, each opened and tried with the same ones.
const secureContexts = new WeakMap<UpstreamTlsConfig, SecureContext>()

/** Reads the authorities and certificates once, not for each connection or endpoint: the public authorities alone take about a millisecond. */
const getSecureContext = (tls: UpstreamTlsConfig): SecureContext => {
  const known = secureContexts.get(tls)
  if (known !== undefined) return known
  const { ca, certificate, key, minVersion } = tls
  const context = createSecureContext({
    minVersion,
    ...(ca !== null && { ca }),
    ...(certificate !== null && key !== null && { cert: certificate, key }),
  })
  secureContexts.set(tls, context)
  return context
}
