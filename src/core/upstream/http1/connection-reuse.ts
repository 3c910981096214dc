import { readSync } from 'node:fs'
import type { Socket } from 'node:net'
import { getFileDescriptor } from '../../lib/file-descriptor.ts'

/**
 * The longest margin between the last use of an idle connection and its end, in milliseconds. It covers the round trip,
 * and a late timer on either side.
 */
export const maxReuseMarginMs = 500

/** The share of a short idle time that is the margin. */
const marginShare = 1 / 4

/**
 * Returns for how long a connection may be idle and still be used, where it is closed after so many milliseconds: that
 * time less a margin. The peer counts from the moment it wrote, and a request that is sent in the last moment arrives
 * after it (RFC 9112 §9.6).
 */
export const reusableMs = (closedAfterMs: number): number =>
  closedAfterMs - Math.min(maxReuseMarginMs, closedAfterMs * marginShare)

/**
 * From this idle time on, in milliseconds, a connection is checked. A busy one is spared the system call and its error
 * (3 µs).
 */
export const checkAfterIdleMs = 10

const byte = Buffer.alloc(1)

/**
 * Returns whether nothing has come on an idle connection: no end (FIN, RST, close_notify), and no unrequested bytes. It
 * asks the kernel: the event loop would notice an end in its next turn, when the request has been written. After
 * `false` the socket must be destroyed: a byte may have been taken from it. TLS may have reasons of its own to send a
 * record (RFC 8446 §4.6); then it costs a connection and no request.
 */
export const isSilent = (socket: Socket): boolean => {
  const descriptor = getFileDescriptor(socket)
  if (descriptor === null) return true
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0 // a stack would cost as much again, and is not read
  try {
    readSync(descriptor, byte)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN'
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
