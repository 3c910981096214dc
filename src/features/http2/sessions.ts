import { constants, performServerHandshake, type ServerHttp2Session, type ServerSessionOptions } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { ListenConfig } from '../../core/config/config.ts'
import {
  destroyAfterLinger,
  type LingerMode,
  type LingerSlots,
  maxLingerIdleMs,
} from '../../core/downstream/listener/linger.ts'
import type { NegotiatedProtocol, ProtocolOptions } from '../../core/downstream/listener/listener-part.ts'
import { getClientConnection } from '../../core/downstream/request/active-request.ts'
import { GatewayError, type ReasonFor } from '../../core/exchange/failures/errors.ts'
import { CoalescedTimer, now } from '../../core/lib/clock.ts'
import { ReceiveWindows, WideConnections } from './receive-windows.ts'
import { StreamRequest } from './stream-request.ts'
import { StreamResponse } from './stream-response.ts'

/**
 * Creates what serves HTTP/2. Where a new configuration changes the limits that a connection has from its beginning to
 * its end, every client gets GOAWAY when it has no request under way, and the new limits with its next connection. At
 * the end it gets GOAWAY when the requests under way have ended, and after half of the deadline, so that later ones can
 * end too.
 */
export const createHttp2Sessions = (options: ProtocolOptions): NegotiatedProtocol => {
  const openSessions = new Set<SessionTimeouts>()
  const wideConnections = new WideConnections()
  let appliedLimits = formatSessionLimits(options.getListenerConfig().config.listen)
  return {
    name: 'h2',
    accept(socket) {
      const session = startSession(socket, options, wideConnections)
      openSessions.add(session)
      socket.once('close', () => openSessions.delete(session))
    },
    applyConfig(listen) {
      const limits = formatSessionLimits(listen)
      if (limits !== appliedLimits) for (const session of openSessions) session.leave()
      appliedLimits = limits
    },
    close(deadlineMs) {
      for (const session of openSessions) session.stop(deadlineMs / 2)
    },
  }
}

// The reset codes that are not the client's fault: success, cut because of the upstream, or cancelled, which nghttp2
// counts.
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
  const windows = new ReceiveWindows(session, wideConnections)
  // The listener keeps half-closed connections open, for HTTP/1; here a client that has ended its side cannot take a
  // response.
  socket.once('end', () => socket.destroy())
  const { address } = getClientConnection(socket, getListenerConfig()).peer // unknown once the connection has closed
  const report = (failure: GatewayError): void => reportUnparsed(address, failure)
  const getTimeouts = (): ListenConfig['timeouts'] => getListenerConfig().config.listen.timeouts
  const sessionTimeouts = startSessionTimeouts(session, socket, getTimeouts, isDraining, () =>
    report(new GatewayError('request-timeout', { reason: 'head-too-slow' })),
  )

  let requestCount = 0
  session.on('stream', (stream, _headers, _flags, raw) => {
    // reset in the packet that it came in
    if (stream.destroyed || stream.closed) return void stream.on('error', () => {})
    const id = stream.id as number
    sessionTimeouts.onStreamOpened(id)
    // Not with the response: a client could give up each request before it has one.
    if (++requestCount >= getListenerConfig().maxRequestsPerConnection) sessionTimeouts.leave()
    stream.on('close', () => {
      // An error destroys a session and, with it, its streams. Without one Node destroys it behind its last stream.
      sessionTimeouts.onStreamClosed(id, session.destroyed && stream.errored !== null)
      if (!benignResetCodes.has(stream.rstCode) && !allowsReset())
        endForAbuse('too-many-broken-streams', 'too many requests that break the protocol')
    })
    const request = new StreamRequest(stream, raw as unknown as string[], socket, windows)
    onRequest(request, new StreamResponse(request))
  })
  // The gateway replies to each such frame: a client that sends nothing else makes it work for nothing.
  const allowsFrame = createFloodGuard()
  // A client that makes the gateway reset its requests (CVE-2025-8671) may do so no faster than one that resets them
  // itself.
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
    // Where the client itself reported the error, there is nothing to report.
    if (error.code?.startsWith('ERR_HTTP2') && clientErrorCode === 0)
      report(new GatewayError('bad-request', { reason: 'bad-frames', cause: error }))
  })
  return sessionTimeouts
}

// The same rate as for cancelled requests: twice what a client has under way at most, then 33 a second.
const floodBurst = 200
const floodRefillPerMs = 33 / 1000

/**
 * Creates a guard against floods: a token bucket of events that cost the gateway more than the client. Each call takes
 * a token, and returns whether there was one.
 */
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

/** The maximum of requests that a client may have under way on one connection, as on HTTP/1. */
const maxStreams = 100

/** Options that Node takes and its types lack. */
interface UndocumentedSessionOptions {
  readonly streamResetBurst: number
  readonly streamResetRate: number
  readonly strictSingleValueFields: boolean
}

type SessionLimits = Pick<ListenConfig, 'maxTarget' | 'maxHeaders' | 'maxHeaderFields'>

/**
 * The limits that nghttp2 and Node set on a session. The floods that they leave open are limited in this file, and the
 * size of a request in match-request.ts.
 */
const createSessionOptions = (listen: SessionLimits): ServerSessionOptions & UndocumentedSessionOptions => {
  // Above the limits that lead to 431 and 414, so that a response is still possible; a list beyond this ends its
  // stream.
  const pairs = 2 * listen.maxHeaderFields + 16
  return {
    settings: {
      maxConcurrentStreams: maxStreams,
      // RFC 9113 §6.5.2: each field counts 32 more than its letters.
      maxHeaderListSize: listen.maxTarget + listen.maxHeaders + 1024 + 32 * pairs,
    },
    maxHeaderListPairs: pairs,
    // When a head is larger, Node sends nothing, and ends the connection with all that is under way on it. An
    // upstream's head is limited to 64 KiB of letters; here each field counts 12 more, and may have a single letter.
    maxSendHeaderBlockLength: 1024 * 1024,
    // Two values of a single-value field pass as they came, as on HTTP/1.
    strictSingleValueFields: false,
    // Rapid reset (CVE-2023-44487): a client may cancel all that it has under way, twice, and then 33 requests a
    // second.
    streamResetBurst: 2 * maxStreams,
    streamResetRate: 33,
    // Node counts empty frames of DATA, which are legal (RFC 9113 §6.1), and malformed frames, and never forgets one:
    // so it is not to count. nghttp2 ends a connection with more than 10,000 of them at once, and then 330 a second.
    maxSessionInvalidFrames: 2 ** 32 - 1,
    // nghttp2 leaves out a field that begins or ends with a blank where it is strict: the request is to be rejected.
    strictFieldWhitespaceValidation: false,
    maxSessionRejectedStreams: maxStreams,
    maxSettings: 32,
    maxOutstandingPings: 4, // the gateway's own, of which there are none
    maxSessionMemory: 16, // MiB
  }
}

const formatSessionLimits = (listen: SessionLimits): string => JSON.stringify(createSessionOptions(listen))

/** The timeouts of one session. Only requests count: no other frame keeps it open. */
interface SessionTimeouts {
  onStreamOpened(id: number): void
  /** Notes that its stream has closed; `hasFailed`: because an error has ended the session. */
  onStreamClosed(id: number, hasFailed: boolean): void
  /**
   * Sends GOAWAY when no request has been under way for a moment, or after 30 s, whatever is under way. Requests that
   * come before GOAWAY are served; those under way are finished in any case.
   */
  leave(): void
  /**
   * Does the same for a gateway that stops: GOAWAY also goes when the requests that are under way now have ended,
   * though later ones are, and after `maxMs`.
   */
  stop(maxMs: number): void
}

// Java 17's HttpClient gives up every request that is under way when GOAWAY arrives. One that asks one thing after the
// other sends its next request as soon as it has a response, so a GOAWAY right behind the response would meet it.
const quietMs = 100
// A client that always has a request under way has no quiet moment.
const maxLeavingMs = 30_000

// A reload or a stop can send GOAWAY to more clients than there is room for: those that were sent an error keep theirs.
const sessionSlots: LingerSlots = { taken: 0 }

/** Starts the timeouts of a session. `onLate` is called when its first request has not come in time. */
const startSessionTimeouts = (
  session: ServerHttp2Session,
  socket: TLSSocket,
  getTimeouts: () => ListenConfig['timeouts'],
  isDraining: () => boolean,
  onLate: () => void,
): SessionTimeouts => {
  let openStreams = 0
  let lastStreamId = 0
  let isLeaving = false
  /** The streams that a stop waits for: those up to an id that are still open. */
  let awaitedStreams = 0
  let lastAwaitedId = 0
  let lastStreamClosedAt = Number.NEGATIVE_INFINITY
  const openedAt = now()
  let isClosing = false
  /** Closes the connection when its client has, or is not waited for any more. */
  const closeAfterLinger = (mode: LingerMode): void => {
    if (isClosing) return
    isClosing = true
    destroyAfterLinger(socket, mode, sessionSlots)
  }
  const goAway = (): void => {
    session.close()
    // A client that still reads the end of a response sends WINDOW_UPDATE. A socket that is closed then is reset, and
    // the rest is lost. Any other needs no more time than GOAWAY takes to reach it.
    if (openStreams === 0) closeAfterLinger(now() - lastStreamClosedAt < maxLingerIdleMs ? 'long' : 'short')
  }
  const idleTimer = new CoalescedTimer(() => {
    if (lastStreamId === 0 && !isLeaving) onLate()
    goAway()
  })
  idleTimer.set(getTimeouts().headers)
  const leavingTimer = new CoalescedTimer(goAway)
  const leaveWithin = (maxMs: number): void => {
    isLeaving = true
    leavingTimer.set(maxMs)
    if (openStreams > 0) return
    // The first request of a new connection is on its way, too.
    if (now() - Math.max(lastStreamClosedAt, openedAt) >= quietMs) goAway()
    else idleTimer.set(quietMs)
  }
  socket.once('close', () => {
    idleTimer.clear()
    leavingTimer.clear()
  })
  return {
    onStreamOpened(id) {
      lastStreamId = id
      openStreams++
      idleTimer.clear()
    },
    onStreamClosed(id, hasFailed) {
      if (--openStreams === 0) lastStreamClosedAt = now()
      const isLastAwaited = id <= lastAwaitedId && --awaitedStreams === 0
      if (socket.destroyed) return
      // Only an error destroys a session that has sent no GOAWAY.
      if (session.closed || session.destroyed) {
        if (openStreams === 0) closeAfterLinger(session.closed && !hasFailed ? 'long' : 'short')
      } else if (isLastAwaited) goAway()
      else if (openStreams === 0) idleTimer.set(isLeaving || isDraining() ? quietMs : getTimeouts().keepAlive)
    },
    leave() {
      if (!isLeaving) leaveWithin(maxLeavingMs)
    },
    stop(maxMs) {
      awaitedStreams = openStreams
      lastAwaitedId = lastStreamId
      leaveWithin(maxMs)
    },
  }
}
