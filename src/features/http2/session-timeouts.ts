import type { TLSSocket } from 'node:tls'
import type { ListenConfig } from '../../core/config/config.ts'
import {
  destroyAfterLinger,
  type LingerMode,
  type LingerSlots,
  maxLingerIdleMs,
} from '../../core/downstream/listener/linger.ts'
import { CoalescedTimer, now } from '../../core/lib/clock.ts'

interface Session {
  /** GOAWAY was sent. */
  readonly closed: boolean
  /** An error has ended the session. */
  readonly destroyed: boolean
  /** Sends GOAWAY. */
  close(): void
}

export type SessionTimeouts = ReturnType<typeof startSessionTimeouts>

// Java 17's HttpClient gives up all requests under way at GOAWAY. A client in sequence sends the next request right
// behind a response, where an immediate GOAWAY would meet it.
const quietMs = 100
// For a client that always has a request under way.
const maxLeavingMs = 30_000

// A reload or a stop can send GOAWAY to more clients than there are slots: clients that got an error keep theirs.
const sessionSlots: LingerSlots = { taken: 0 }

/** Only requests keep a session open, no other frames. */
export const startSessionTimeouts = (
  session: Session,
  socket: TLSSocket,
  getTimeouts: () => ListenConfig['timeouts'],
  isDraining: () => boolean,
  onLate: () => void,
) => {
  let openStreams = 0
  let lastStreamId = 0
  let isLeaving = false
  let awaitedStreams = 0
  let lastAwaitedId = 0
  let lastStreamClosedAt = Number.NEGATIVE_INFINITY
  const openedAt = now()
  let isClosing = false
  const closeAfterLinger = (mode: LingerMode): void => {
    if (isClosing) return
    isClosing = true
    destroyAfterLinger(socket, mode, sessionSlots)
  }
  const goAway = (): void => {
    session.close()
    // A client that still reads a response sends WINDOW_UPDATE: a closed socket would be reset, and the rest lost.
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
    onStreamOpened(id: number): void {
      lastStreamId = id
      openStreams++
      idleTimer.clear()
    },
    /** `hasFailed`: an error has ended the session. */
    onStreamClosed(id: number, hasFailed: boolean): void {
      if (--openStreams === 0) lastStreamClosedAt = now()
      const isLastAwaited = id <= lastAwaitedId && --awaitedStreams === 0
      if (socket.destroyed) return
      // Only an error destroys a session that has sent no GOAWAY.
      if (session.closed || session.destroyed) {
        if (openStreams === 0) closeAfterLinger(session.closed && !hasFailed ? 'long' : 'short')
      } else if (isLastAwaited) goAway()
      else if (openStreams === 0) idleTimer.set(isLeaving || isDraining() ? quietMs : getTimeouts().keepAlive)
    },
    /** Sends GOAWAY after 100 ms without a request, or after 30 s. Requests that come before it are served. */
    leave(): void {
      if (!isLeaving) leaveWithin(maxLeavingMs)
    },
    /** As `leave`, but also when the requests now under way have ended, and after `maxMs`. */
    stop(maxMs: number): void {
      awaitedStreams = openStreams
      lastAwaitedId = lastStreamId
      leaveWithin(maxMs)
    },
  }
}
