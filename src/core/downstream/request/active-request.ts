import type { Socket } from 'node:net'
import type { Exchange } from '../../exchange/exchange.ts'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import { now } from '../../lib/clock.ts'
import type { ExchangeRecord } from '../../log/exchange-record.ts'
import type { Snapshot } from '../../runtime/snapshot/snapshot.ts'
import type { ClientBody } from '../body/client-body.ts'
import type { DownstreamRequest, DownstreamResponse } from '../codec.ts'
import { type CompiledListenerConfig, createPeer } from '../listener/listener-config.ts'
import { type ForwardedClaims, getClientAddress, type Peer } from './forwarded.ts'
import { type Expectation, parseExpectation, parseRequestHead, type RequestHead } from './request-head.ts'

export interface ListenerState {
  isDraining: boolean
  isCutting: boolean
}

/** Becomes the access record when the response has ended. */
export class ActiveRequest implements ExchangeRecord {
  readonly request: DownstreamRequest
  readonly response: DownstreamResponse
  readonly snapshot: Snapshot
  readonly peer: Peer
  readonly head: RequestHead
  readonly requestId: string
  /** From `Forwarded`; null: not read. */
  readonly claims: ForwardedClaims | null
  readonly client: string
  readonly startedAt = now()
  readonly expectation: Expectation
  readonly #listener: ListenerState
  readonly #isLast: boolean
  body: ClientBody | null = null
  exchange: Exchange | null = null
  firstByteMs: number | null = null
  totalMs = 0
  bytesOut = 0
  /** Called when a written response becomes the head of the line. */
  onHeadOfLine: (() => void) | null = null
  failure: GatewayError | null = null

  constructor(
    request: DownstreamRequest,
    response: DownstreamResponse,
    snapshot: Snapshot,
    peer: Peer,
    listenerConfig: CompiledListenerConfig,
    listener: ListenerState,
    isLast: boolean,
  ) {
    this.request = request
    this.response = response
    this.snapshot = snapshot
    this.peer = peer
    const { readForwarded, requestIdField, createRequestId, isTrusted, keepsOverrides } = listenerConfig
    const { trusted } = peer
    this.head = parseRequestHead(request.rawHeaders, requestIdField, trusted, readForwarded !== null, keepsOverrides)
    this.requestId = this.head.requestId ?? createRequestId()
    this.claims = readForwarded === null ? null : readForwarded(peer, this.head.forwarded)
    this.client = this.claims?.client ?? getClientAddress(peer, this.head.forwarded.for, isTrusted)
    this.expectation = parseExpectation(this.head.expect, request.httpVersion)
    this.#listener = listener
    this.#isLast = isLast
  }

  /** The gateway drains, or the connection had its last request. */
  get isDraining(): boolean {
    return this.#isLast || this.#listener.isDraining
  }

  get method(): string | null {
    return this.request.method ?? null
  }

  get path(): string | null {
    if (this.exchange !== null) return null
    const { originalUrl, url } = this.request // HTTP/2: none for an unknown method
    return (originalUrl ?? url)?.slice(0, maxLoggedPathLength).split('?', 1)[0] ?? null
  }

  get status(): number {
    const { failure, response } = this
    return failure?.kind === 'client-gone' || !response.headersSent ? (failure?.status ?? 499) : response.statusCode
  }

  get bytesIn(): number {
    return this.body?.receivedBytes ?? 0
  }

  get configHash(): string {
    return this.snapshot.config.hash
  }

  abort(reason: GatewayError): void {
    this.exchange?.abort(reason)
    this.body?.abort(reason)
  }

  /** Even a response that ends with its connection is reset: a part must not look whole. */
  reset(reason: GatewayError): void {
    this.failure ??= reason
    this.response.reset()
  }
}

// Enough to see how the path differs from the nine.
const maxLoggedPathLength = 200

export interface ClientConnection {
  listenerConfig: CompiledListenerConfig
  peer: Peer
  /** The requests with incomplete responses, oldest first. */
  readonly activeRequests: ActiveRequest[]
  requestCount: number
  /** No further request is served (RFC 9112 §9.6). */
  closing: boolean
}

const connections = new WeakMap<Socket, ClientConnection>()

/** Judges the peer again under a new configuration. */
export const getClientConnection = (socket: Socket, listenerConfig: CompiledListenerConfig): ClientConnection => {
  const known = connections.get(socket)
  if (known?.listenerConfig === listenerConfig) return known
  const peer = createPeer(socket, listenerConfig.isTrusted)
  if (known !== undefined) return Object.assign(known, { listenerConfig, peer })
  const connection = { listenerConfig, peer, activeRequests: [], requestCount: 0, closing: false }
  connections.set(socket, connection)
  return connection
}

export const getMaxBodyBytes = (socket: Socket): number => connections.get(socket)?.listenerConfig.maxBodyBytes ?? 0

export const closeAfterResponse = (socket: Socket): void => {
  const known = connections.get(socket)
  if (known !== undefined) known.closing = true
}
