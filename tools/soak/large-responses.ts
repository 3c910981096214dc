import { type EndpointBehavior, respond } from '../lab/endpoint-behavior.ts'
import { pour } from './pour.ts'

/** What a large response holds: more than the system does between two processes. */
export const largeBytes = 16 * 1024 * 1024

/** Responds as sound servers do, and a target with `bytes=` with so many, as they are taken. */
export const respondLarge = (): EndpointBehavior => {
  const small = respond()
  return {
    onWhole(turn) {
      const bytes = Number(/[?&]bytes=(\d+)/.exec(turn.head.target)?.[1] ?? 0)
      if (bytes === 0) return small.onWhole?.(turn)
      turn.socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`)
      pour(turn.socket, bytes, () => turn.done())
    },
  }
}
