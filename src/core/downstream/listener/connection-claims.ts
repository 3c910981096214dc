/** Keeps what a load balancer in front has said of a connection, for as long as the connection is there. */
import type { Socket } from 'node:net'

export interface ConnectionClaims {
  /** How many bytes it took to say so. */
  readonly length: number
  /** The address of the client; null: not known. */
  readonly address: string | null
  /** Whether the load balancer knows nothing of the client: whose fields are believed is not known either then. */
  readonly isAnonymous: boolean
  /** The name that the client asked the load balancer for, for the log; null: not said. */
  readonly authority: string | null
  /** Tells whether the client speaks TLS with the load balancer, as the configuration is now. */
  isSecure(): boolean
}

const claims = new WeakMap<Socket, ConnectionClaims>()

export const setConnectionClaims = (socket: Socket, said: ConnectionClaims): void => void claims.set(socket, said)

/** Returns what was said of a connection; undefined: nothing was asked for. */
export const getConnectionClaims = (socket: Socket): ConnectionClaims | undefined => claims.get(socket)

/** Gives a TLS socket what was said of the connection below it, of which it receives no byte itself. */
export const inheritConnectionClaims = (secured: Socket, raw: Socket): void => {
  const said = claims.get(raw)
  if (said !== undefined) claims.set(secured, { ...said, length: 0 })
}

/** Tells whether nothing has come on a connection yet, apart from what was said of it. */
export const hasReceivedNothing = (socket: Socket): boolean => socket.bytesRead === (claims.get(socket)?.length ?? 0)
