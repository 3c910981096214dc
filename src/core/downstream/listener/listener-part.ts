import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ListenConfig } from '../../config/config.ts'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import { PartLoaders } from '../../lib/part-loaders.ts'
import type { DownstreamRequest, DownstreamResponse } from '../codec.ts'
import type { GetListenerConfig } from './listener-config.ts'

/** What a feature brings to the listener of clients. */
export interface ListenerPart {
  /** Creates what reads connections before TLS or HTTP is spoken on them. */
  createAcceptor?(options: AcceptorOptions): ConnectionAcceptor
  /** Compiles which addresses say by a connection's first bytes whose it is. */
  compileIntroducers?(listen: ListenConfig): (address: string) => boolean
  /** Names a protocol by its first bytes, where HTTP is expected; null: it is another one. */
  detectProtocol?(first: Buffer): GatewayError | null
  /** Opens a protocol that clients may choose by ALPN; null: it is off. */
  openProtocol?(options: ProtocolOptions): Promise<NegotiatedProtocol> | null
  /** Describes the listener, in the line of the log that says where it listens. */
  describe?(listen: ListenConfig): object
}

export interface ProtocolOptions {
  readonly getListenerConfig: GetListenerConfig
  /** Records a failure to which no response was written. */
  reportUnparsed(client: string, failure: GatewayError): void
  onRequest(request: DownstreamRequest, response: DownstreamResponse): void
  /** Whether the gateway takes no new connections soon: a client that has nothing under way is to leave. */
  isDraining(): boolean
}

/** What serves the clients that have chosen a protocol. */
export interface NegotiatedProtocol {
  /** Its name in ALPN. */
  readonly name: string
  accept(socket: TLSSocket): void
  applyConfig(listen: ListenConfig): void
  /** Lets every connection end, before `deadlineMs` where it can. */
  close(deadlineMs: number): void
}

/** Stands between an accepted connection and the server that speaks TLS or HTTP on it. */
export interface ConnectionAcceptor {
  /** Takes a connection of which nothing has been read. */
  accept(socket: Socket): void
  /** Applies a new configuration: it holds for connections that come from now on. */
  applyConfig(listen: ListenConfig): void
  /** Tells whether a connection has not sent all that it has to. */
  isAwaited(socket: Socket): boolean
}

/** Resolves to false when the address has as many as it may have. */
export type CountConnection = (socket: Socket, address: string) => Promise<boolean>

export interface AcceptorOptions {
  readonly listen: ListenConfig
  /** Called with a connection at once, or when its own bytes begin. What follows has not been read. */
  onConnection(socket: Socket): void
  /** Called with a connection of which something has to come first. */
  onAwaited(socket: Socket): void
  /** Counts a connection by the address of its client, where another process counts; undefined: none does. */
  readonly countElsewhere: CountConnection | undefined
  /** Called when it has not come, or is malformed; the connection is closed. `sender` is the other end of it. */
  onFailure(sender: string, failure: GatewayError): void
}

/** Of each feature that the listener of clients takes. */
export const listenerPartLoaders = new PartLoaders<ListenerPart>()
