import type { Socket } from 'node:net'

/** What is known of a connection's next response. */
export interface AwaitedResponse {
  /** Whether a request has begun, and nothing of its response has come. */
  awaited: boolean
}

/**
 * Has undici's parser take two beginnings of a response that a client must read and it refuses: a 100 that no request has asked for, which
 * is left out (RFC 9110 §15.2), and a later minor version, which is read as 1.1 (RFC 9110 §2.5). A beginning that comes in pieces is left
 * as it is.
 */
export const easeResponseStart = (socket: Socket, response: AwaitedResponse): void => {
  const { push } = socket
  socket.push = (chunk: Buffer | null, ...rest): boolean => {
    if (!response.awaited || chunk === null) return push.call(socket, chunk, ...rest)
    const start = behindContinue(chunk)
    if (start.length === 0) return true
    response.awaited = false
    if (isLaterMinor(start)) start[minorAt] = one
    return push.call(socket, start, ...rest)
  }
}

/** Leaves out the whole 100s at the front. */
const behindContinue = (chunk: Buffer): Buffer => {
  let rest = chunk
  while (isContinue(rest)) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return rest
    rest = rest.subarray(end + 4)
  }
  return rest
}

// HTTP/1.1 100
const minorAt = 7
const statusAt = 9
const [zero, one, nine] = [0x30, 0x31, 0x39]

const isContinue = (start: Buffer): boolean =>
  start[statusAt] === one && start[statusAt + 1] === zero && start[statusAt + 2] === zero && isHttp1(start)

const isLaterMinor = (start: Buffer): boolean => {
  const minor = start[minorAt] ?? 0
  return minor > one && minor <= nine && isHttp1(start)
}

const isHttp1 = (start: Buffer): boolean => start.toString('latin1', 0, minorAt) === 'HTTP/1.'
