import { type EndpointBehaviour, respond } from '../lab/endpoint-behaviour.ts'

/** What a large response holds: more than the system does between two processes. */
export const largeBytes = 16 * 1024 * 1024

const piece = Buffer.alloc(64 * 1024, 'x')

/** Answers as sound servers do, and a target with `bytes=` with so many, as they are taken. */
export const respondLarge = (): EndpointBehaviour => {
  const small = respond()
  return {
    onWhole(turn) {
      const { socket, head } = turn
      let left = Number(/[?&]bytes=(\d+)/.exec(head.target)?.[1] ?? 0)
      if (left === 0) return small.onWhole?.(turn)
      const write = (): void => {
        while (left > 0 && !socket.destroyed) {
          left -= piece.length
          if (!socket.write(piece)) return void socket.once('drain', write)
        }
        turn.done()
      }
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${left}\r\n\r\n`)
      write()
    },
  }
}
