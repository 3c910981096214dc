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

/** Not called if the socket is destroyed first. */
export type OnConnected = (error: GatewayError | null, socket: Socket | null) => void

/** `onread` gets the bytes without a stream (see `net.connect`). */
export type Connector = (onConnected: OnConnected, onread?: OnReadOpts) => Socket

const tcpKeepAliveMs = 60_000

/**
 * Fails with `connect-failed`, `connect-timeout` or `tls-failed`, before any byte of a request is sent. Verifies the
 * certificate against the endpoint's name or `serverName`, never against the Host sent, which the client chooses with
 * `host: client`. A TLS session is not shared: one that began without a client certificate must not replace one with
 * it. Near the certificate's end no session is resumed, so that a renewal is seen at once.
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
        // Set even if true: otherwise NODE_TLS_REJECT_UNAUTHORIZED would decide.
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

/** Loading the public authorities takes 1 ms, and a group may have hundreds of endpoints. */
const getSecureContext = weakMemo(({ ca, certificate, key, minVersion }: UpstreamTlsConfig) =>
  createSecureContext({
    ...trustAnchors,
    minVersion,
    ...(ca !== null && { ca }),
    ...(certificate !== null && key !== null && { cert: certificate, key }),
  }),
)

export const maxReuseMarginMs = 500

const marginShare = 1 / 4

/**
 * Less than the peer's limit, which counts from its last write (RFC 9112 §9.6): a later request would come too late.
 */
export const reusableMs = (closedAfterMs: number): number =>
  closedAfterMs - Math.min(maxReuseMarginMs, closedAfterMs * marginShare)

/** The check is a system call (3 µs), which busier connections do without. */
export const checkAfterIdleMs = 10

const byte = Buffer.alloc(1)

/**
 * Whether the peer has sent no end (FIN, RST, close_notify) and no unrequested bytes. Asks the kernel: the event loop
 * would see an end only after the request is written. After `false` destroy the socket, since a byte may have been
 * read. A TLS record of the endpoint's own (RFC 8446 §4.6) costs a connection, no request.
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
