import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ListenConfig } from '../../config/config.ts'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import { PartLoaders } from '../../lib/part-loaders.ts'
import type { DownstreamRequest, DownstreamResponse } from '../codec.ts'
import type { GetListenerConfig } from './listener-config.ts'

export interface ListenerPart {
  /** Reads connections before TLS or HTTP. */
  createAcceptor?(options: AcceptorOptions): ConnectionAcceptor
  /** Addresses whose connections begin with claims about a client. */
  compileIntroducers?(listen: ListenConfig): (address: string) => boolean
  detectProtocol?(first: Buffer): GatewayError | null
  /** For ALPN; null: off. */
  openProtocol?(options: ProtocolOptions): Promise<NegotiatedProtocol> | null
  /** For the log line that announces the listener. */
  describe?(listen: ListenConfig): object
}

export interface ProtocolOptions {
  readonly getListenerConfig: GetListenerConfig
  reportUnparsed(client: string, failure: GatewayError): void
  onRequest(request: DownstreamRequest, response: DownstreamResponse): void
  /** Idle clients have to leave. */
  isDraining(): boolean
}

export interface NegotiatedProtocol {
  readonly name: string
  accept(socket: TLSSocket): void
  applyConfig(listen: ListenConfig): void
  close(deadlineMs: number): void
}

export interface ConnectionAcceptor {
  /** The connection must be unread. */
  accept(socket: Socket): void
  applyConfig(listen: ListenConfig): void
  /** Whether the connection still has to send its claims. */
  isAwaited(socket: Socket): boolean
}

/** Resolves to false when the address is at its limit. */
export type CountConnection = (socket: Socket, address: string) => Promise<boolean>

export interface AcceptorOptions {
  readonly listen: ListenConfig
  /** Called at once or after the claims, with the rest unread. */
  onConnection(socket: Socket): void
  onAwaited(socket: Socket): void
  readonly countElsewhere: CountConnection | undefined
  /** The connection is closed; `sender` is its other end. */
  onFailure(sender: string, failure: GatewayError): void
}

export const listenerPartLoaders = new PartLoaders<ListenerPart>()
