import { readFileSync } from 'node:fs'
import type { Server, Socket } from 'node:net'

/**
 * An open server or socket, with Node's handle of it. `_handle` and its `fd` are not documented, though as old as `net`
 * is. Seen on Node 24.21.
 */
type WithHandle = (Server | Socket) & { readonly _handle?: { readonly fd?: number } | null }

/** Returns the descriptor of a server or a socket, to ask the kernel about it. Null: it is not open. */
export const getFileDescriptor = (open: Server | Socket): number | null => {
  const { _handle: handle }: WithHandle = open
  const fd = handle?.fd
  return fd === undefined || fd < 0 ? null : fd
}

/** Returns how many descriptors this process may have. Infinity: the system does not say, or there is no limit. */
export const maxOpenFiles = (): number => {
  try {
    const [, limit = 'Infinity'] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return Number(limit)
  } catch {
    return Number.POSITIVE_INFINITY // not on Linux
  }
}

// As many as clients leave free, if the limit is high enough for it: the default places of all groups, and the others.
const reservedFiles = 4096

/**
 * Returns how many connections clients may have of `limit` descriptors. The rest is kept for the connections to
 * upstreams, operators and probes. Of a low limit that is three fifths, since each request of a client takes one to an
 * upstream.
 */
export const maxClientFiles = (limit: number): number =>
  limit === Number.POSITIVE_INFINITY ? limit : Math.floor(limit - Math.min(reservedFiles, 0.6 * limit))

/** The descriptors for operators, probes, Redis, issuers, logs, and for what Node itself has open. */
export const otherFiles = 512

/**
 * Returns how many connections to upstreams there may be with `limit` descriptors: half of what the others leave, so
 * that of a low limit clients, upstreams and the others have about a third each.
 */
export const maxUpstreamFiles = (limit: number): number => Math.floor((limit - Math.min(otherFiles, 0.3 * limit)) / 2)

export const upstreamFiles = { open: 0 }

let mostUpstreamFiles: number | null = null

/**
 * Tells whether a request may have a new connection to an upstream. A client of HTTP/2 has a hundred requests under
 * way on one connection: without a bound they would take the last descriptor, and keep operators and probes out.
 */
export const mayConnectUpstream = (): boolean => {
  mostUpstreamFiles ??= maxUpstreamFiles(maxOpenFiles())
  return upstreamFiles.open < mostUpstreamFiles
}
