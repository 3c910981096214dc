import type { ServerHttp2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { Alarm } from '../../clock.ts'
import type { ListenConfig } from '../../config/config.ts'

/** Keeps the time of one connection. Only requests count: no other frame keeps it open. */
export interface Watch {
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
export const watch = (
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
