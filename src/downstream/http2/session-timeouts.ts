import type { ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { CoalescedTimer, now } from '../../clock.ts'
import type { ListenConfig } from '../../config/config.ts'
import { destroyAfterLinger, type LingerMode, type LingerSlots, maxLingerIdleMs } from '../listener/linger.ts'

/** The timeouts of one session. Only requests count: no other frame keeps it open. */
export interface SessionTimeouts {
  /** Notes a request. */
  onStreamOpened(): void
  /** Notes that its stream has closed; `hasFailed`: because an error has ended the session. */
  onStreamClosed(hasFailed: boolean): void
  /** Sends GOAWAY; the session closes when its open streams have ended. */
  goAway(): void
}

// A reload or a stop can send GOAWAY to more clients than there is room for: those that were sent an error keep theirs.
const sessionSlots: LingerSlots = { taken: 0 }

/** Starts the timeouts of a session. `onLate` is called when its first request has not come in time. */
export const startSessionTimeouts = (
  session: ServerHttp2Session,
  socket: TLSSocket,
  getTimeouts: () => ListenConfig['timeouts'],
  onLate: () => void,
): SessionTimeouts => {
  let openStreams = 0
  let hasRequested = false
  let lastStreamClosedAt = Number.NEGATIVE_INFINITY
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
    if (!hasRequested) onLate()
    goAway()
  })
  idleTimer.set(getTimeouts().headers)
  socket.once('close', () => idleTimer.clear())
  return {
    onStreamOpened() {
      hasRequested = true
      openStreams++
      idleTimer.clear()
    },
    onStreamClosed(hasFailed) {
      if (--openStreams > 0 || socket.destroyed) return
      lastStreamClosedAt = now()
      // Only an error destroys a session that has sent no GOAWAY.
      if (session.closed || session.destroyed) closeAfterLinger(session.closed && !hasFailed ? 'long' : 'short')
      else idleTimer.set(getTimeouts().keepAlive)
    },
    goAway,
  }
}
