import { constants, performServerHandshake, type ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { ListenConfig } from '../../../core/config/config.ts'
import type { WideConnections } from '../../../core/downstream/http2/wide-connections.ts'
import type { NegotiatedProtocol, ProtocolOptions } from '../../../core/downstream/listener/listener-part.ts'
import { getClientConnection } from '../../../core/downstream/request/active-request.ts'
import { GatewayError, type ReasonFor } from '../../../core/exchange/failures/errors.ts'
import { now } from '../../../core/lib/clock.ts'
import { createSessions } from '../create-sessions.ts'
import { maxConcurrentStreams, maxListFields, maxListSize, type SessionLimits } from '../session-limits.ts'
import { type SessionTimeouts, startSessionTimeouts } from '../session-timeouts.ts'
import { NodeReceiveWindows } from './receive-windows.ts'
import { StreamRequest } from './stream-request.ts'
import { StreamResponse } from './stream-response.ts'

export const createNodeSessions = (options: ProtocolOptions): NegotiatedProtocol =>
  createSessions(options, formatSessionLimits, startSession)

// Not the client's fault: success, a failed upstream, or a cancelation, which nghttp2 counts.
const benignResetCodes: ReadonlySet<number | undefined> = new Set([
  constants.NGHTTP2_NO_ERROR,
  constants.NGHTTP2_INTERNAL_ERROR,
  constants.NGHTTP2_CANCEL,
])

const startSession = (
  socket: TLSSocket,
  { getListenerConfig, reportUnparsed, onRequest, isDraining }: ProtocolOptions,
  wideConnections: WideConnections,
): SessionTimeouts => {
  const { listen } = getListenerConfig().config
  const session = performServerHandshake(socket, createSessionOptions(listen)) as ServerHttp2Session
  const windows = new NodeReceiveWindows(session, wideConnections)
  // A client that has closed its side of the TLS connection can take no response over HTTP/2.
  socket.once('end', () => socket.destroy())
  const { address } = getClientConnection(socket, getListenerConfig()).peer // unknown once the connection has closed
  const report = (failure: GatewayError): void => reportUnparsed(address, failure)
  const getTimeouts = (): ListenConfig['timeouts'] => getListenerConfig().config.listen.timeouts
  const sessionTimeouts = startSessionTimeouts(session, socket, getTimeouts, isDraining, () =>
    report(new GatewayError('request-timeout', { reason: 'head-too-slow' })),
  )

  let requestCount = 0
  session.on('stream', (stream, _headers, _flags, raw) => {
    // Reset in the packet that it came in.
    if (stream.destroyed || stream.closed) return void stream.on('error', () => {})
    const id = stream.id as number
    sessionTimeouts.onStreamOpened(id)
    // Counted at the start: a client could give up each request before its response.
    if (++requestCount >= getListenerConfig().maxRequestsPerConnection) sessionTimeouts.leave()
    stream.on('close', () => {
      // Without an error Node destroys a session after its last stream.
      sessionTimeouts.onStreamClosed(id, session.destroyed && stream.errored !== null)
      if (!benignResetCodes.has(stream.rstCode) && !allowsReset())
        endForAbuse('too-many-broken-streams', 'too many requests that break the protocol')
    })
    const request = new StreamRequest(stream, raw as unknown as string[], socket, windows)
    onRequest(request, new StreamResponse(request))
  })
  // The gateway replies to each such frame.
  const allowsFrame = createFloodLimiter()
  // CVE-2025-8671: a client may make the gateway reset requests no faster than it may reset them itself.
  const allowsReset = createFloodLimiter()
  let clientErrorCode = 0
  const endForAbuse = (reason: ReasonFor<'bad-request'>, message: string): void => {
    if (session.destroyed) return
    const cause = new Error(message)
    report(new GatewayError('bad-request', { reason, cause }))
    session.destroy(cause, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
  const onFrame = (): void => {
    if (!allowsFrame()) endForAbuse('too-many-frames', 'too many frames that advance no request')
  }
  session.on('ping', onFrame)
  session.on('remoteSettings', onFrame)
  session.on('goaway', (code) => {
    clientErrorCode = code
  })
  session.on('error', (error: NodeJS.ErrnoException) => {
    // What the client itself reported needs no report.
    if (error.code?.startsWith('ERR_HTTP2') && clientErrorCode === 0)
      report(new GatewayError('bad-request', { reason: 'bad-frames', cause: error }))
  })
  return sessionTimeouts
}

// A burst of twice the maximum of streams, then 33 a second.
const floodBurst = 200
const floodRefillPerMs = 33 / 1000

const createFloodLimiter = (): (() => boolean) => {
  let tokens = floodBurst
  let refilledAt = now()
  return () => {
    const time = now()
    tokens = Math.min(floodBurst, tokens + (time - refilledAt) * floodRefillPerMs) - 1
    refilledAt = time
    return tokens >= 0
  }
}

/** The floods that nghttp2 and Node leave open are limited here; the request in validate-request.ts. */
const createSessionOptions = (listen: SessionLimits) => {
  return {
    settings: { maxConcurrentStreams, maxHeaderListSize: maxListSize(listen) },
    maxHeaderListPairs: maxListFields(listen),
    // Above this Node ends the connection with all its requests. An upstream's head has at most 64 KiB of letters; here
    // each field counts 12 more, and may have a single letter.
    maxSendHeaderBlockLength: 1024 * 1024,
    // As on HTTP/1.
    strictSingleValueFields: false,
    // Rapid reset (CVE-2023-44487): a client may cancel all its requests twice at once, then 33 a second.
    streamResetBurst: 2 * maxConcurrentStreams,
    streamResetRate: 33,
    // Node counts malformed frames and empty DATA frames, which are legal (RFC 9113 §6.1), and never forgets one.
    // nghttp2 ends a connection with more than 10,000 at once, then 330 a second.
    maxSessionInvalidFrames: 2 ** 32 - 1,
    // Strict, nghttp2 would drop a field with an outer blank; the request must be rejected.
    strictFieldWhitespaceValidation: false,
    maxSessionRejectedStreams: maxConcurrentStreams,
    maxSettings: 32,
    maxOutstandingPings: 4, // PINGs of the gateway, which sends none
    maxSessionMemory: 16, // MiB
  }
}

const formatSessionLimits = (listen: SessionLimits): string => JSON.stringify(createSessionOptions(listen))
