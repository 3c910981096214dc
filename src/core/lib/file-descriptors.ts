import { readFileSync } from 'node:fs'
import type { Server, Socket } from 'node:net'

/** Undocumented, though as old as `net`. Seen on Node 24.21. */
type WithHandle = (Server | Socket) & { readonly _handle?: { readonly fd?: number } | null }

export const getFileDescriptor = (open: Server | Socket): number | null => {
  const { _handle: handle }: WithHandle = open
  const fd = handle?.fd
  return fd === undefined || fd < 0 ? null : fd
}

/** Infinity: the system does not say, or there is no limit. */
export const maxOpenFiles = (): number => {
  try {
    const [, limit = 'Infinity'] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return Number(limit)
  } catch {
    return Number.POSITIVE_INFINITY // not on Linux
  }
}

// For the default places of all groups, and the other descriptors.
const reservedFiles = 4096

/**
 * The rest, two fifths of a low limit, is for upstreams, operators and probes: each request takes a connection to an
 * upstream.
 */
export const maxClientFiles = (limit: number): number =>
  limit === Number.POSITIVE_INFINITY ? limit : Math.floor(limit - Math.min(reservedFiles, 0.6 * limit))

/** For operators, probes, Redis, issuers, logs, and Node itself. */
export const otherFiles = 512

/** A low limit is shared about equally by clients, upstreams and the other uses. */
export const maxUpstreamFiles = (limit: number): number => Math.floor((limit - Math.min(otherFiles, 0.3 * limit)) / 2)

export const upstreamFiles = { open: 0 }

let mostUpstreamFiles: number | null = null

/** An HTTP/2 client has 100 requests a connection: unbounded, they would take the last descriptor. */
export const mayConnectUpstream = (): boolean => {
  mostUpstreamFiles ??= maxUpstreamFiles(maxOpenFiles())
  return upstreamFiles.open < mostUpstreamFiles
}
