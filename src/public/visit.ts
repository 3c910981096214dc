import type { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { ClientBody } from './client-body.ts'
import type { Head } from './head.ts'
import type { Peer } from './peer.ts'
import type { ClientRequest, ClientResponse, Wire } from './wire.ts'

interface Arrived {
  readonly request: ClientRequest
  readonly response: ClientResponse
  readonly wire: Wire
  readonly snapshot: Snapshot
  readonly peer: Peer
  readonly head: Head
  readonly requestId: string
  readonly client: string
  readonly startedAt: number
  /** Whether the client waits for `100 Continue`. */
  readonly expectsContinue: boolean
  /** Tells whether the gateway is on its way down, so that every answer ends its connection. */
  readonly draining: () => boolean
}

/** Is one request on the public listener, from its head to the end of its answer: what the edge must remember of it. */
export class Visit {
  readonly request: ClientRequest
  readonly response: ClientResponse
  /** How the version that the client speaks is written. */
  readonly wire: Wire
  /** The snapshot that it began with, and keeps. */
  readonly snapshot: Snapshot
  readonly peer: Peer
  readonly head: Head
  readonly requestId: string
  /** The client's address. */
  readonly client: string
  readonly startedAt: number
  readonly expectsContinue: boolean
  readonly draining: () => boolean
  body: ClientBody | null = null
  exchange: Exchange | null = null
  /** When the head of its answer was written, on the monotonic clock; null: it was not. */
  headAt: number | null = null
  /** Bytes of the answer's body. */
  sentBytes = 0
  /** Is called when it is the turn of its answer, some of which was written before. */
  onTurn: (() => void) | null = null
  /** Why it failed, for the access log. */
  failure: GatewayError | null = null

  constructor(arrived: Arrived) {
    this.request = arrived.request
    this.response = arrived.response
    this.wire = arrived.wire
    this.snapshot = arrived.snapshot
    this.peer = arrived.peer
    this.head = arrived.head
    this.requestId = arrived.requestId
    this.client = arrived.client
    this.startedAt = arrived.startedAt
    this.expectsContinue = arrived.expectsContinue
    this.draining = arrived.draining
  }

  /** Ends the exchange early, whatever it waits for. */
  abort(reason: GatewayError): void {
    this.exchange?.abort(reason)
    this.body?.abandon(reason)
  }

  /** Cuts the answer off, so that an incomplete one cannot be taken for a whole one: not even one that ends with the connection. */
  cut(reason: GatewayError): void {
    this.failure ??= reason
    this.wire.cut(this)
  }
}
