import type { ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { ListenConfig } from '../../core/config/config.ts'
import {
  destroyAfterLinger,
  type LingerMode,
  type LingerSlots,
  maxLingerIdleMs,
} from '../../core/downstream/listener/linger.ts'
import { CoalescedTimer, now } from '../../core/lib/clock.ts'

/** The timeouts of one session. Only requests count: no other frame keeps it open. */
export interface SessionTimeouts {
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
export const startSessionTimeouts = (
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
