import type { AddressInfo, Server } from 'node:net'

// Where systemd keeps the socket for the next process: how long idle connections stay open for requests that are on
// their way.
export const drainGraceMs = 500

/**
 * Where a listener shall be: at an address, or the listening socket behind a descriptor that the process was started
 * with.
 */
export type BindTarget = BindAddress | BindDescriptor

export interface BindAddress {
  readonly host: string
  readonly port: number
}

/** A listening socket that the process was started with. */
export interface InheritedSocket {
  readonly fd: number
  /** The variable and the name that gave the descriptor, for messages. */
  readonly source: string
}

interface BindDescriptor extends InheritedSocket {
  /** The port that it must have. Null: any. */
  readonly port: number | null
}

export interface ListenError extends NodeJS.ErrnoException {
  /** The address as it was configured; Node names the one that a host name has. */
  readonly target?: BindAddress
}

/**
 * Makes a server listen. Rejects with a {@link ListenError} when it cannot, and when the descriptor is no TCP socket
 * that listens where it should: the kernel would let a socket without an address listen as well, on a port of its own
 * choice.
 */
export const listenAt = (server: Server, target: BindTarget): Promise<void> =>
  new Promise((resolve, reject) => {
    if ('host' in target) {
      const { host, port } = target
      server.once('error', (error: ListenError) => reject(Object.assign(error, { target: { host, port } })))
      return void server.listen(port, host, resolve)
    }
    server.once('error', (error) => reject(new Error(notListeningText(target), { cause: error })))
    server.listen({ fd: target.fd }, () => {
      const address = server.address() as AddressInfo | string | null
      const port = typeof address === 'object' ? address?.port : undefined
      if (port !== undefined && (target.port === null || port === target.port)) return resolve()
      const found = port === undefined ? notListeningText(target) : `${describeSocket(target)} listens on port ${port}`
      server.close(() => reject(new Error(target.port === null ? found : `${found}; port ${target.port} was expected`)))
    })
  })

const describeSocket = ({ fd, source }: InheritedSocket): string => `descriptor ${fd} (${source})`

export const notListeningText = (target: InheritedSocket): string =>
  `${describeSocket(target)} is no TCP socket that listens`

export type ListenerName = 'public' | 'admin'

/** The listening sockets that a process was started with. Null: it opens that listener itself. */
export type InheritedSockets = Readonly<Record<ListenerName, InheritedSocket | null>>

export const noInheritedSockets: InheritedSockets = { public: null, admin: null }

/** Returns the bind target of a listener. An inherited socket must have the port of the file; 0: any. */
export const resolveBindTarget = (socket: InheritedSocket | null, { host, port }: BindAddress): BindTarget =>
  socket === null ? { host, port } : { ...socket, port: port === 0 ? null : port }
