import { readSync } from 'node:fs'
import { connect as connectTcp, type LookupFunction, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, TLSSocket } from 'node:tls'
import type { UpstreamTlsConfig } from '../../config/config.ts'
import { GatewayError, type ReasonFor } from '../../exchange/failures/errors.ts'
import { CoalescedTimer, epochMs } from '../../lib/clock.ts'
import { getFileDescriptor } from '../../lib/file-descriptors.ts'
import { weakMemo } from '../../lib/memo.ts'
import { toServerName, trustAnchors } from '../../lib/net/tls.ts'
import { connectFailedError, tlsFailedError } from '../classify-error.ts'
import { lookupHostname } from '../endpoints/dns.ts'
import { getEndpointCertificates } from '../endpoints/endpoint-certificates.ts'

/** Not called when the socket is destroyed before. */
export type OnConnected = (error: GatewayError | null, socket: Socket | null) => void

/** `onread` takes the bytes without a stream (see `net.connect`). */
export type Connector = (onConnected: OnConnected, onread?: OnReadOpts) => Socket

const tcpKeepAliveMs = 60_000

/**
 * Limited by the gateway's own timer. Fails with `connect-failed`, `connect-timeout` or `tls-failed`, before any of a
 * request was sent. The certificate is verified against the endpoint's name or `serverName`, never against the Host
 * that is sent: with `host: client` the client chooses it. Each connector has its own TLS session: one that began
 * without a client certificate must not stand in for one with it. Near the certificate's end no session is resumed: a
 * renewal or the end is seen at once.
 */
export const createConnector = (origin: string, tls: UpstreamTlsConfig, timeoutMs: number | null) => {
  const { protocol, hostname, host: authority, port } = new URL(origin)
  const isTls = protocol === 'https:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const certificates = isTls ? getEndpointCertificates(tls, authority) : null
  return (lookup = lookupHostname): Connector => {
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

const timeoutReason = (isResolving: boolean, isConnected: boolean): ReasonFor<'connect-timeout'> =>
  isConnected ? 'no-tls-in-time' : isResolving ? 'name-server-silent' : 'not-connected-in-time'

/** The public authorities take 1 ms to load, and a group may have hundreds of endpoints. */
const getSecureContext = weakMemo(({ ca, certificate, key, minVersion }: UpstreamTlsConfig) =>
  createSecureContext({
    ...trustAnchors,
    minVersion,
    ...(ca !== null && { ca }),
    ...(certificate !== null && key !== null && { cert: certificate, key }),
  }),
)

/** Covers the round trip, and a late timer on either side. */
export const maxReuseMarginMs = 500

const marginShare = 1 / 4

/** The peer counts from its own last write: a request at the last moment would come too late (RFC 9112 §9.6). */
export const reusableMs = (closedAfterMs: number): number =>
  closedAfterMs - Math.min(maxReuseMarginMs, closedAfterMs * marginShare)

/** Busier connections are spared the system call (3 µs). */
export const checkAfterIdleMs = 10

const byte = Buffer.alloc(1)

/**
 * Whether it has no end (FIN, RST, close_notify) and no unrequested bytes. The event loop would see an end only after
 * the request is written, so the kernel is asked. After `false` destroy the socket: a byte may have been taken. A TLS
 * record of the endpoint's own (RFC 8446 §4.6) costs a connection, no request.
 */
export const isSilent = (socket: Socket): boolean => {
  const descriptor = getFileDescriptor(socket)
  if (descriptor === null) return true
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0 // a stack would double the cost
  try {
    readSync(descriptor, byte)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN'
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
