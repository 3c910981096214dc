import type { AddressInfo, Server } from 'node:net'

// Connections are left to bring what is on its way, before they are closed as idle, where systemd keeps the socket for the next process.
export const drainGraceMs = 500

/** Is where a listener shall be: at an address, or the listening socket behind a descriptor that the process was started with. */
export type BindTarget = BindAddress | BindDescriptor

export interface BindAddress {
  readonly host: string
  readonly port: number
}

/** A listening socket that the process was started with. */
export interface InheritedSocket {
  readonly fd: number
  /** Whose word it is, for messages: a variable and a name. */
  readonly source: string
}

interface BindDescriptor extends InheritedSocket {
  /** The port that it must have; null: any. */
  readonly port: number | null
}

/**
 * Has a server listen. Rejects when it cannot, and when the descriptor is no TCP socket that listens where it should: the kernel
 * would let a socket without an address listen as well, on a port of its own choice.
 */
export const listenAt = (server: Server, target: BindTarget): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject('fd' in target ? new Error(notListeningText(target), { cause: error }) : error),
    )
    if ('host' in target) return void server.listen(target.port, target.host, resolve)
    server.listen({ fd: target.fd }, () => {
      const address = server.address() as AddressInfo | string | null
      const port = typeof address === 'object' ? address?.port : undefined
      if (port !== undefined && (target.port === null || port === target.port)) return resolve()
      const found = port === undefined ? notListeningText(target) : `${describeSocket(target)} listens on port ${port}`
      server.close(() => reject(new Error(target.port === null ? found : `${found}; port ${target.port} was expected`)))
    })
  })

const describeSocket = ({ fd, source }: InheritedSocket): string => `descriptor ${fd} (${source})`

/** Says what is wrong with a descriptor. */
export const notListeningText = (target: InheritedSocket): string =>
  `${describeSocket(target)} is no TCP socket that listens`
