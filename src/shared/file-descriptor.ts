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
