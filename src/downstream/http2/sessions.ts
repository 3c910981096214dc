import type { RequestListener } from 'node:http'
import { constants, performServerHandshake, type ServerHttp2Session, type ServerSessionOptions } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { CoalescedTimer, now } from '../../clock.ts'
import type { ListenConfig } from '../../config/config.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { ReasonFor } from '../../failures/reasons.ts'
import { getClientConnection } from '../listener/client-connection.ts'
import type { ClientErrorHandler } from '../listener/client-error.ts'
import type { GetListenerConfig } from '../listener/listener-config.ts'
import type { RequestHandler } from '../request/request-handler.ts'
import { ReceiveWindows, WideConnections } from './receive-windows.ts'
import { isKnownMethod, StreamRequest } from './stream-request.ts'
import { StreamResponse } from './stream-response.ts'

/** Speaks HTTP/2 on the connections that it is given. */
export interface Http2Sessions {
  /** Takes a connection whose client chose HTTP/2 by ALPN. */
  accept(socket: TLSSocket): void
  /** Tells every client to go elsewhere (GOAWAY). Streams that are open go on. */
  close(): void
}

export interface Http2SessionsOptions {
  readonly handleRequest: RequestHandler
  readonly getListenerConfig: GetListenerConfig
  readonly clientErrors: ClientErrorHandler
  readonly routeRequest: RequestListener
}

/** Makes what speaks HTTP/2 for one public listener. */
export const createHttp2Sessions = (options: Http2SessionsOptions): Http2Sessions => {
  const openSessions = new Set<SessionTimeouts>()
  const wideConnections = new WideConnections()
  return {
    accept(socket) {
      const session = startSession(socket, options, wideConnections)
      openSessions.add(session)
      socket.once('close', () => openSessions.delete(session))
    },
    close() {
      for (const session of openSessions) session.goAway()
    },
  }
}

// How a stream ends that nobody is to blame for: well, cut because of the upstream, or given up, which nghttp2 counts.
const benignResetCodes: ReadonlySet<number | undefined> = new Set([
  constants.NGHTTP2_NO_ERROR,
  constants.NGHTTP2_INTERNAL_ERROR,
  constants.NGHTTP2_CANCEL,
])

const startSession = (
  socket: TLSSocket,
  { handleRequest, getListenerConfig, clientErrors, routeRequest }: Http2SessionsOptions,
  wideConnections: WideConnections,
): SessionTimeouts => {
  const { listen } = getListenerConfig().config
  const session = performServerHandshake(socket, createSessionOptions(listen)) as ServerHttp2Session
  const windows = new ReceiveWindows(session, wideConnections)
  // The listener keeps half-closed connections open, for HTTP/1; here nobody is left who could take an answer.
  socket.once('end', () => socket.destroy())
  const { address } = getClientConnection(socket, getListenerConfig()).peer // when the connection has gone, nobody knows it any more
  const report = (failure: GatewayError): void => clientErrors.reportUnparsed(address, failure)
  const sessionTimeouts = startSessionTimeouts(session, socket, listen, () =>
    report(new GatewayError('request-timeout', { reason: 'head-too-slow' })),
  )

  session.on('stream', (stream, _headers, _flags, raw) => {
    if (stream.destroyed || stream.closed) return void stream.on('error', () => {}) // reset in the packet that it came in
    sessionTimeouts.onStreamOpened()
    stream.on('close', () => {
      sessionTimeouts.onStreamClosed()
      if (!benignResetCodes.has(stream.rstCode) && !allowsReset())
        endForAbuse('too-many-broken-streams', 'too many requests that break the protocol')
    })
    const request = new StreamRequest(stream, raw as unknown as string[], socket, windows)
    const response = new StreamResponse(request)
    // Fastify knows no other methods, and renders all of its routes to say so.
    if (isKnownMethod(request.method)) routeRequest(request as never, response as never)
    else handleRequest(request, response, null)
  })
  // Each is answered: a client that asks for nothing else makes the gateway work for it.
  const allowsFrame = createFloodGuard()
  // Who has the gateway reset its requests for him (CVE-2025-8671) may do so no faster than who resets them himself.
  const allowsReset = createFloodGuard()
  let clientErrorCode = 0
  const endForAbuse = (reason: ReasonFor<'bad-request'>, message: string): void => {
    if (session.destroyed) return
    const cause = new Error(message)
    report(new GatewayError('bad-request', { reason, cause }))
    session.destroy(cause, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
  const onFrame = (): void => {
    if (!allowsFrame()) endForAbuse('too-many-frames', 'too many frames that ask for nothing')
  }
  session.on('ping', onFrame)
  session.on('remoteSettings', onFrame)
  session.on('goaway', (code) => {
    clientErrorCode = code
  })
  session.on('error', (error: NodeJS.ErrnoException) => {
    // Where it is the client that complains, there is nothing to say.
    if (error.code?.startsWith('ERR_HTTP2') && clientErrorCode === 0)
      report(new GatewayError('bad-request', { reason: 'bad-frames', cause: error }))
  })
  return sessionTimeouts
}

// As for requests that are given up: twice what a client has under way at most, then 33 a second.
const floodBurst = 200
const floodRefillPerMs = 33 / 1000

/** Counts what costs the gateway more than the client; tells of each whether it is still one of those that a client may send. */
const createFloodGuard = (): (() => boolean) => {
  let tokens = floodBurst
  let refilledAt = now()
  return () => {
    const time = now()
    tokens = Math.min(floodBurst, tokens + (time - refilledAt) * floodRefillPerMs) - 1
    refilledAt = time
    return tokens >= 0
  }
}

/** Is how many requests a client may have under way on one connection, as on HTTP/1. */
const maxStreams = 100

/** Is what Node knows and its types do not. */
interface UndocumentedSessionOptions {
  readonly streamResetBurst: number
  readonly streamResetRate: number
  readonly strictSingleValueFields: boolean
}

/**
 * Tells in what a connection is bounded before it asks for anything: by nghttp2 and Node. What they leave open is bounded above
 * and below, and what a request may hold in admit.ts.
 */
const createSessionOptions = (
  listen: Pick<ListenConfig, 'maxTarget' | 'maxHeaders' | 'maxHeaderFields'>,
): ServerSessionOptions & UndocumentedSessionOptions => {
  // Above the bounds that are answered with 431 and 414, so that there is somebody to answer; a list beyond this ends its stream.
  const pairs = 2 * listen.maxHeaderFields + 16
  return {
    settings: {
      maxConcurrentStreams: maxStreams,
      // RFC 9113 §6.5.2: each field counts 32 more than its letters.
      maxHeaderListSize: listen.maxTarget + listen.maxHeaders + 1024 + 32 * pairs,
    },
    maxHeaderListPairs: pairs,
    // Of a head that is larger, Node sends nothing, and ends the connection with all that is under way on it. An upstream's is bounded by its
    // letters, 64 KiB; here each field counts 12 more, and may have a single letter.
    maxSendHeaderBlockLength: 1024 * 1024,
    // Two values of a field that has one pass as they came, as on HTTP/1.
    strictSingleValueFields: false,
    // Rapid reset (CVE-2023-44487): a client may give up on all that it has under way, twice, and then on 33 requests a second.
    streamResetBurst: 2 * maxStreams,
    streamResetRate: 33,
    // Empty frames, and malformed ones, before the connection ends.
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: maxStreams,
    maxSettings: 32,
    maxOutstandingPings: 4, // ours, of which there are none
    maxSessionMemory: 16, // MiB
  }
}

/** Keeps the time of one connection. Only requests count: no other frame keeps it open. */
interface SessionTimeouts {
  /** Hears of a request. */
  onStreamOpened(): void
  /** Hears that its stream has closed. */
  onStreamClosed(): void
  /** Tells the client to go elsewhere; closes when the streams that are open have ended. */
  goAway(): void
}

// For GOAWAY to reach a client that does not close by itself.
const goAwayLingerMs = 300

/** Begins to watch a connection. `onTimeout` is told when its first request has not come in time. */
const startSessionTimeouts = (
  session: ServerHttp2Session,
  socket: TLSSocket,
  { timeouts }: Pick<ListenConfig, 'timeouts'>,
  onLate: () => void,
): SessionTimeouts => {
  let openStreams = 0
  let hasRequested = false
  const closeTimer = new CoalescedTimer(() => socket.destroy())
  const goAway = (): void => {
    session.close()
    if (openStreams === 0) closeTimer.set(goAwayLingerMs)
  }
  const idleTimer = new CoalescedTimer(() => {
    if (!hasRequested) onLate()
    goAway()
  })
  idleTimer.set(timeouts.headers)
  socket.once('close', () => {
    idleTimer.clear()
    closeTimer.clear()
  })
  return {
    onStreamOpened() {
      hasRequested = true
      openStreams++
      idleTimer.clear()
    },
    onStreamClosed() {
      if (--openStreams > 0 || socket.destroyed) return
      if (session.closed || session.destroyed) closeTimer.set(goAwayLingerMs)
      else idleTimer.set(timeouts.keepAlive)
    },
    goAway,
  }
}
