import type { RequestBody, Upload } from '../../src/core/exchange/body.ts'
import {
  type AttemptRecord,
  Attempts,
  Exchange,
  type ExchangeInit,
  type Handler,
  type ProxyResponse,
  type RecordedOutcome,
} from '../../src/core/exchange/exchange.ts'
import { allOperations, type OperationId } from '../../src/operations.ts'

/** Makes the record of an attempt that is under way. */
export const attemptRecord = (more: Partial<AttemptRecord> = {}): AttemptRecord => ({
  ...{ endpoint: 'http://market:8080', side: null, startedAt: 0, endedAt: null, mayBeCut: false, previous: null },
  ...more,
})

/** A request body that a test moves along by hand. */
export interface FakeBody extends RequestBody {
  received: boolean
  started: boolean
  /** Marks it as being read. */
  begin(): void
  /** Says that the whole of it has arrived. */
  complete(): void
}

/** Makes a body of so many bytes (null: chunked); one of none has arrived already. */
export const fakeBody = (length: number | null = 0): FakeBody => ({
  length,
  received: length === 0,
  replayable: length !== null && length > 0,
  started: false,
  maxBytes: Number.POSITIVE_INFINITY,
  onData: null,
  onStarted: null,
  onReceived: null,
  read: () => Promise.resolve([Buffer.alloc(length ?? 0)]),
  stream: () => {
    throw new Error('nothing streams here')
  },
  begin() {
    this.started = true
    this.onStarted?.()
  },
  complete() {
    this.received = true
    this.onReceived?.()
  },
})

/** Makes a chunked body of some chunks, which says whether its upload was stopped. */
export const chunkedBody = (...texts: readonly string[]): RequestBody & { isStopped: boolean } => {
  const body = {
    ...fakeBody(null),
    replayable: false,
    isStopped: false,
    stream: (): Upload => ({
      stop: () => {
        body.isStopped = true
      },
      async *[Symbol.asyncIterator]() {
        for (const text of texts) yield Buffer.from(text)
        body.received = true
      },
    }),
  }
  return body
}

interface Wanted extends Partial<Omit<ExchangeInit, 'operation'>> {
  readonly operation?: OperationId
}

/** Makes an exchange, of GET /market/insights unless the options say otherwise. */
export const fakeExchange = ({ operation = 'market.insights', ...opened }: Wanted = {}): Exchange => {
  const found = allOperations.find(({ id }) => id === operation)
  if (found === undefined) throw new Error(`no operation ${operation}`)
  return new Exchange({
    requestId: 'r-1',
    client: '127.0.0.1',
    peer: { trusted: false, inFlight: 1, certificate: () => null },
    query: '',
    fields: [],
    authority: 'gateway',
    body: fakeBody(),
    onInterim: null,
    ...opened,
    operation: found,
  })
}

/** Makes what is noted of the attempts at an exchange. */
export const fakeAttempts = (more: Partial<Attempts>): Attempts => Object.assign(new Attempts(), more)

/** Makes what a layer that stores responses has noted. */
export const fakeOutcome = (
  outcome: string,
  stored: RecordedOutcome['stored'],
  more: Partial<RecordedOutcome> = {},
): RecordedOutcome => ({ source: 'cache', outcome, firstRequestId: null, stored, isAudited: false, ...more })

/** Makes a response whose body has arrived. */
export const fakeResponse = (status = 200): ProxyResponse => ({
  status,
  reason: '',
  fields: [],
  body: {
    isShared: false,
    takeBuffered: () => Buffer.alloc(0),
    consume: (sink) => sink.end(),
    resume: () => {},
    discard: () => {},
  },
})

/** Makes the innermost handler of a test: it responds with 200, and counts. */
export const fakeNext = (handle: Handler = () => Promise.resolve(fakeResponse())): Handler & { calls: number } => {
  const next = Object.assign(
    (exchange: Exchange): Promise<ProxyResponse> => {
      next.calls++
      return handle(exchange)
    },
    { calls: 0 },
  )
  return next
}

/** Makes a handle that ends only when the exchange is aborted, as sending does. */
export const untilAborted: Handler = (exchange) =>
  new Promise((_, reject) => {
    exchange.setAbortListener(reject)
  })
