import type { AddressInfo, Server } from 'node:net'

// Connections are left to bring what is on its way, before they are closed as idle, where systemd keeps the socket for the next process.
export const onItsWayMs = 500

/** Is where a listener shall be: at an address, or the listening socket behind a descriptor that the process was started with. */
export type Place = Address | Descriptor

export interface Address {
  readonly host: string
  readonly port: number
}

/** A listening socket that the process was started with. */
export interface InheritedSocket {
  readonly fd: number
  /** Whose word it is, for messages: a variable and a name. */
  readonly named: string
}

interface Descriptor extends InheritedSocket {
  /** The port that it must have; null: any. */
  readonly port: number | null
}

/**
 * Has a server listen. Rejects when it cannot, and when the descriptor is no TCP socket that listens where it should: the kernel
 * would let a socket without an address listen as well, on a port of its own choice.
 */
export const listenAt = (server: Server, place: Place): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) => reject('fd' in place ? new Error(notListening(place), { cause: error }) : error))
    if ('host' in place) return void server.listen(place.port, place.host, resolve)
    server.listen({ fd: place.fd }, () => {
      const address = server.address() as AddressInfo | string | null
      const port = typeof address === 'object' ? address?.port : undefined
      if (port !== undefined && (place.port === null || port === place.port)) return resolve()
      const found = port === undefined ? notListening(place) : `${nameOf(place)} listens on port ${port}`
      server.close(() => reject(new Error(place.port === null ? found : `${found}; port ${place.port} was expected`)))
    })
  })

const nameOf = ({ fd, named }: InheritedSocket): string => `descriptor ${fd} (${named})`

/** Says what is wrong with a descriptor. */
export const notListening = (place: InheritedSocket): string => `${nameOf(place)} is no TCP socket that listens`
