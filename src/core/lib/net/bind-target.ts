import type { AddressInfo, Server } from 'node:net'

// If systemd keeps the socket, idle connections stay open this long for requests on their way.
export const drainGraceMs = 500

export type BindTarget = BindAddress | BindDescriptor

export interface BindAddress {
  readonly host: string
  readonly port: number
}

export interface InheritedSocket {
  readonly fd: number
  /** The variable and the name that gave the descriptor, for messages. */
  readonly source: string
}

interface BindDescriptor extends InheritedSocket {
  /** Null: any. */
  readonly port: number | null
}

export interface ListenError extends NodeJS.ErrnoException {
  /** The configured address; Node names the resolved one. */
  readonly target?: BindAddress
}

/** Rejects a descriptor that is not a listening TCP socket: the kernel would choose a port for it. */
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

export type InheritedSockets = Readonly<Record<ListenerName, InheritedSocket | null>>

export const noInheritedSockets: InheritedSockets = { public: null, admin: null }

/** An inherited socket must have the port of the file; 0: any. */
export const resolveBindTarget = (socket: InheritedSocket | null, { host, port }: BindAddress): BindTarget =>
  socket === null ? { host, port } : { ...socket, port: port === 0 ? null : port }
