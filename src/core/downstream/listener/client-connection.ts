import type { Socket } from 'node:net'
import type { ActiveRequest } from '../request/active-request.ts'
import type { CompiledListenerConfig } from './listener-config.ts'
import { createPeer, type Peer } from './peer.ts'

export interface ClientConnection {
  listenerConfig: CompiledListenerConfig
  peer: Peer
  /** The requests whose responses are not complete, oldest first. */
  readonly activeRequests: ActiveRequest[]
  requestCount: number
  /** Whether a response has said that it is the last: whatever follows is not served (RFC 9112 §9.6). */
  closing: boolean
}

const connections = new WeakMap<Socket, ClientConnection>()

/** Finds the state of a connection, or creates it; the peer is judged anew when the configuration has changed. */
export const getClientConnection = (socket: Socket, listenerConfig: CompiledListenerConfig): ClientConnection => {
  const known = connections.get(socket)
  if (known?.listenerConfig === listenerConfig) return known
  const { config, isTrusted } = listenerConfig
  const peer = createPeer(socket, isTrusted, config.listen.proxyProtocol?.scheme === 'https')
  if (known !== undefined) return Object.assign(known, { listenerConfig, peer })
  const connection = {
    listenerConfig,
    peer,
    activeRequests: [],
    requestCount: 0,
    closing: false,
  }
  connections.set(socket, connection)
  return connection
}

export const getMaxBodyBytes = (socket: Socket): number => connections.get(socket)?.listenerConfig.maxBodyBytes ?? 0

/** Notes that the current response on a connection is its last. */
export const closeAfterResponse = (socket: Socket): void => {
  const known = connections.get(socket)
  if (known !== undefined) known.closing = true
}
