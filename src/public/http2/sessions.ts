import type { RequestListener } from 'node:http'
import { constants, performServerHandshake, type ServerHttp2Session, type ServerSessionOptions } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { Alarm, now } from '../../clock.ts'
import type { ListenConfig } from '../../config/config.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { ReasonOf } from '../../failures/reasons.ts'
import { connectionOf } from '../connection.ts'
import type { CurrentEdge } from '../edge.ts'
import type { Serve } from '../front.ts'
import type { Stray } from '../stray.ts'
import { isMethod, StreamRequest } from './request.ts'
import { StreamResponse } from './response.ts'
import { ReceiveWindows, WideConnections } from './windows.ts'

/** Speaks HTTP/2 on the connections that it is given. */
export interface Sessions {
  /** Takes a connection whose client chose HTTP/2 by ALPN. */
  take(socket: TLSSocket): void
  /** Tells every client to go elsewhere (GOAWAY). Streams that are open go on. */
  close(): void
}

export interface SessionsOptions {
  readonly serve: Serve
  readonly currentEdge: CurrentEdge
  readonly strays: Stray
  readonly enter: RequestListener
}

/** Makes what speaks HTTP/2 for one public listener. */
export const sessions = (options: SessionsOptions): Sessions => {
  const open = new Set<Watch>()
  const wideConnections = new WideConnections()
  return {
    take(socket) {
      const session = begin(socket, options, wideConnections)
      open.add(session)
      socket.once('close', () => open.delete(session))
    },
    close() {
      for (const session of open) session.end()
    },
  }
}

// How a stream ends that nobody is to blame for: well, cut because of the upstream, or given up, which nghttp2 counts.
const isInOrder: ReadonlySet<number | undefined> = new Set([
  constants.NGHTTP2_NO_ERROR,
  constants.NGHTTP2_INTERNAL_ERROR,
  constants.NGHTTP2_CANCEL,
])

const begin = (
  socket: TLSSocket,
  { serve, currentEdge, strays, enter }: SessionsOptions,
  wideConnections: WideConnections,
): Watch => {
  const { listen } = currentEdge().config
  const session = performServerHandshake(socket, sessionOptions(listen)) as ServerHttp2Session
  const windows = new ReceiveWindows(session, wideConnections)
  // The listener keeps half-closed connections open, for HTTP/1; here nobody is left who could take an answer.
  socket.once('end', () => socket.destroy())
  const { address } = connectionOf(socket, currentEdge()).peer // when the connection has gone, nobody knows it any more
  const account = (failure: GatewayError): void => strays.record(address, failure)
  const watched = watch(session, socket, listen, () =>
    account(new GatewayError('request-timeout', { reason: 'head-too-slow' })),
  )

  session.on('stream', (stream, _headers, _flags, raw) => {
    if (stream.destroyed || stream.closed) return void stream.on('error', () => {}) // reset in the packet that it came in
    watched.began()
    stream.on('close', () => {
      watched.ended()
      if (!isInOrder.has(stream.rstCode) && !mayBreakOff())
        endFor('too-many-broken-streams', 'too many requests that break the protocol')
    })
    const request = new StreamRequest(stream, raw as unknown as string[], socket, windows)
    const response = new StreamResponse(request)
    // Fastify knows no other methods, and renders all of its routes to say so.
    if (isMethod(request.method)) enter(request as never, response as never)
    else serve(request, response, null)
  })
  // Each is answered: a client that asks for nothing else makes the gateway work for it.
  const mayAsk = allowance()
  // Who has the gateway reset its requests for him (CVE-2025-8671) may do so no faster than who resets them himself.
  const mayBreakOff = allowance()
  let complaint = 0
  const endFor = (reason: ReasonOf<'bad-request'>, why: string): void => {
    if (session.destroyed) return
    const cause = new Error(why)
    account(new GatewayError('bad-request', { reason, cause }))
    session.destroy(cause, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
  const onFrame = (): void => {
    if (!mayAsk()) endFor('too-many-frames', 'too many frames that ask for nothing')
  }
  session.on('ping', onFrame)
  session.on('remoteSettings', onFrame)
  session.on('goaway', (code) => {
    complaint = code
  })
  session.on('error', (error: NodeJS.ErrnoException) => {
    // Where it is the client that complains, there is nothing to say.
    if (error.code?.startsWith('ERR_HTTP2') && complaint === 0)
      account(new GatewayError('bad-request', { reason: 'bad-frames', cause: error }))
  })
  return watched
}

// As for requests that are given up: twice what a client has under way at most, then 33 a second.
const burst = 200
const perMs = 33 / 1000

/** Counts what costs the gateway more than the client; tells of each whether it is still one of those that a client may send. */
const allowance = (): (() => boolean) => {
  let left = burst
  let at = now()
  return () => {
    const time = now()
    left = Math.min(burst, left + (time - at) * perMs) - 1
    at = time
    return left >= 0
  }
}

/** Is how many requests a client may have under way on one connection, as on HTTP/1. */
const maxStreams = 100

/** Is what Node knows and its types do not. */
interface Unknown {
  readonly streamResetBurst: number
  readonly streamResetRate: number
  readonly strictSingleValueFields: boolean
}

/**
 * Tells in what a connection is bounded before it asks for anything: by nghttp2 and Node. What they leave open is bounded above
 * and below, and what a request may hold in admit.ts.
 */
const sessionOptions = (
  listen: Pick<ListenConfig, 'maxTarget' | 'maxHeaders' | 'maxHeaderFields'>,
): ServerSessionOptions & Unknown => {
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
interface Watch {
  /** Hears of a request. */
  began(): void
  /** Hears that its stream has closed. */
  ended(): void
  /** Tells the client to go elsewhere; closes when the streams that are open have ended. */
  end(): void
}

// For GOAWAY to reach a client that does not close by itself.
const lingerMs = 300

/** Begins to watch a connection. `onLate` is told when its first request has not come in time. */
const watch = (
  session: ServerHttp2Session,
  socket: TLSSocket,
  { timeouts }: Pick<ListenConfig, 'timeouts'>,
  onLate: () => void,
): Watch => {
  let running = 0
  let asked = false
  const gone = new Alarm(() => socket.destroy())
  const end = (): void => {
    session.close()
    if (running === 0) gone.set(lingerMs)
  }
  const idle = new Alarm(() => {
    if (!asked) onLate()
    end()
  })
  idle.set(timeouts.headers)
  socket.once('close', () => {
    idle.clear()
    gone.clear()
  })
  return {
    began() {
      asked = true
      running++
      idle.clear()
    },
    ended() {
      if (--running > 0 || socket.destroyed) return
      if (session.closed || session.destroyed) gone.set(lingerMs)
      else idle.set(timeouts.keepAlive)
    },
    end,
  }
}
