/** Keeps what the PROXY protocol header of a connection has said, for as long as the connection is there. */
import type { Socket } from 'node:net'
import type { ProxyHeader } from './proxy-header.ts'

const headers = new WeakMap<Socket, ProxyHeader>()

export const setProxyHeader = (socket: Socket, header: ProxyHeader): void => void headers.set(socket, header)

/** Returns the header of a connection; undefined: none was asked for. */
export const getProxyHeader = (socket: Socket): ProxyHeader | undefined => headers.get(socket)

/** Gives a TLS socket the header of the connection below it, of which it receives no byte itself. */
export const inheritProxyHeader = (secured: Socket, raw: Socket): void => {
  const header = headers.get(raw)
  if (header !== undefined) headers.set(secured, { ...header, length: 0 })
}

/** Tells whether nothing has come on a connection yet, apart from its header. */
export const hasReceivedNothing = (socket: Socket): boolean => socket.bytesRead === (headers.get(socket)?.length ?? 0)
