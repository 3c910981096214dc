import type { Socket } from 'node:net'
import type { LabRequestHead } from './read-requests.ts'

/** An endpoint's turn with a request. */
export interface Turn {
  readonly socket: Socket
  readonly head: LabRequestHead
  readonly endpoint: string
  /** The SHA-256 of the body, once it is whole. */
  sha256(): string | null
  /** Returns whether the server is leaving, so that this response is the last of its connection. */
  last(): boolean
  /** Says that the response is on its way: the connection is idle again. */
  done(): void
}

/** What an endpoint does with its connections and requests. */
export interface EndpointBehavior {
  readonly onAccept?: (socket: Socket) => void
  /** At the head of a request, its body perhaps still to come. */
  readonly onHead?: (turn: Turn) => void
  /** At the end of a request. */
  readonly onWhole?: (turn: Turn) => void
  /** Cuts a connection that has carried a request when the next one comes on it. */
  readonly cutsIdle?: boolean
}

/** What an endpoint that responds says of the request: what arrived, and where. */
export interface Echo {
  readonly id: string
  readonly endpoint: string
  readonly sha256: string | null
}

interface ResponseOptions {
  readonly status?: number
  readonly latencyMs?: number
  /** Further fields, each with its line end. */
  readonly fields?: string
}

const render = (turn: Turn, status: number, fields: string): string => {
  const echo: Echo = { id: turn.head.id, endpoint: turn.endpoint, sha256: turn.sha256() }
  const body = JSON.stringify(echo)
  const close = turn.last() ? 'Connection: close\r\n' : ''
  return `HTTP/1.1 ${status} Said\r\n${fields}${close}Content-Length: ${body.length}\r\n\r\n${body}`
}

const write = (turn: Turn, bytes: string): void => {
  turn.done()
  if (turn.last()) turn.socket.end(bytes)
  else turn.socket.write(bytes)
}

/** Responds as a sound server does, after `latencyMs`. */
export const respond = ({ status = 200, latencyMs = 0, fields = '' }: ResponseOptions = {}): EndpointBehavior => ({
  onWhole: (turn) => {
    if (latencyMs === 0) write(turn, render(turn, status, fields))
    else setTimeout(() => write(turn, render(turn, status, fields)), latencyMs)
  },
})

/** A behavior that keeps requests waiting. */
export interface HoldingBehavior extends EndpointBehavior {
  waiting(): number
  /** Responds to all that wait, and from then on at once. */
  release(): void
}

/** Responds to no request until it is released. */
export const holdRequests = (): HoldingBehavior => {
  const waiting: Turn[] = []
  let released = false
  return {
    onWhole: (turn) => {
      if (released) write(turn, render(turn, 200, ''))
      else waiting.push(turn)
    },
    waiting: () => waiting.length,
    release() {
      released = true
      for (const turn of waiting.splice(0)) write(turn, render(turn, 200, ''))
    },
  }
}

/** Responds as sound servers do, and drops each connection that was idle when the next request is on it. */
export const cutIdle: EndpointBehavior = { ...respond(), cutsIdle: true }

/** Says with each response that it is the last. */
export const closeAfterResponse: EndpointBehavior = {
  onWhole: (turn) => turn.socket.end(render(turn, 200, 'Connection: close\r\n')),
}

const writeBytes = (bytes: string): EndpointBehavior => ({
  onWhole: ({ socket }) => void socket.write(bytes, 'latin1'),
})

/** Resets each connection as soon as there is one. */
export const resetAtAccept: EndpointBehavior = { onAccept: (socket) => socket.resetAndDestroy() }

/** Reads the whole of a request, and resets. */
export const resetWhenWhole: EndpointBehavior = { onWhole: ({ socket }) => socket.resetAndDestroy() }

/** Reads the whole of a request, and never says anything. */
export const hang: EndpointBehavior = {}

const dripEveryMs = 20

/** Writes one byte after the other. */
const drip = (begin: string, rest: string): EndpointBehavior => ({
  onWhole: ({ socket }) => {
    let at = 0
    socket.write(begin)
    const timer = setInterval(() => {
      socket.write(rest.charAt(at++))
      if (at >= rest.length) clearInterval(timer)
    }, dripEveryMs)
    socket.on('close', () => clearInterval(timer))
  },
})

/** Writes a head of which no end is to be seen. */
export const dripHead = drip('HTTP/1.1 200 OK\r\nX-Slow: ', 'x'.repeat(100_000))

/** Writes a body slowly, and comes to its end. */
export const dripBody = drip('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n', '0123456789')
export const stallInBody = writeBytes('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')
export const truncate: EndpointBehavior = {
  onWhole: ({ socket }) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
}
export const garbage = writeBytes('no such protocol\r\n\r\n')
export const invalidField = writeBytes('HTTP/1.1 200 OK\r\nX-Bad: a\x01b\r\nContent-Length: 0\r\n\r\n')
export const oversizedField = writeBytes(`HTTP/1.1 200 OK\r\nX-Large: ${'x'.repeat(100_000)}\r\n\r\n`)
export const unsolicitedContinue = writeBytes(
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
)

/** A response that no client asked for, and no client may be given. */
export const extraResponseMark = 'of somebody else'

const extraResponseBytes = `HTTP/1.1 200 OK\r\nContent-Length: ${extraResponseMark.length}\r\n\r\n${extraResponseMark}`

/** Responds, and goes on with a second response. */
export const extraResponse: EndpointBehavior = {
  onWhole: (turn) => {
    turn.socket.write(render(turn, 200, '') + extraResponseBytes)
  },
}

/** Responds, and gives a second response when `later` is called. */
export const extraResponseLater = (): EndpointBehavior & { later(): void } => {
  let socket: Socket | null = null
  return {
    onWhole: (turn) => {
      socket = turn.socket
      turn.socket.write(render(turn, 200, ''))
    },
    later: () => void socket?.write(extraResponseBytes),
  }
}

/** Rejects at the head, and closes with what follows unread. */
export const respondEarly: EndpointBehavior = {
  onHead: ({ socket }) => {
    socket.pause()
    socket.end('HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
    socket.once('finish', () => setImmediate(() => socket.destroy()))
  },
}
