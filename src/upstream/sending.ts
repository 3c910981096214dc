import { Alarm, now } from '../clock.ts'
import type { FieldEdits } from '../config/config.ts'
import type { Answer, Attempt, AttemptTrace, Exchange, Upload } from '../exchange.ts'
import { GatewayError } from '../failures/errors.ts'
import type { Fields } from '../fields.ts'
import { AnswerQueue, type Source } from './answer-queue.ts'
import type { Connection, ConnectionUser, ResponseHandler } from './connection.ts'
import type { Endpoint } from './endpoint.ts'
import { noteIfFailed, type OnFailedAttempt, type Outcome, outcomeOf, outcomeOfFailure } from './outcome.ts'
import type { RequestContent } from './write-request.ts'

/** Says how an upstream wants to be sent to, compiled once from its configuration. */
export interface Manner {
  readonly headersTimeoutMs: number | null
  readonly bodyTimeoutMs: number | null
  readonly editAnswer: Edit | null
  readonly editInterim: Edit | null
  /**
   * Hears what a request told of its endpoint, by which failure or status, and when it began; null: nobody compares it
   * with others.
   */
  readonly watch: ((outcome: Outcome, why: GatewayError | number, startedAt: number) => void) | null
  /** Is called for each attempt that failed by its endpoint's fault, whatever becomes of the exchange. */
  readonly onFailure: OnFailedAttempt
  /** Renders the head of the request that an exchange is sent as, with these fields. Throws `internal`. */
  readonly render: (exchange: Exchange, fields: Fields) => string
}

/** Is one attempt on its way: what it is sent on, its timers and its answer. */
export class Sending implements ConnectionUser, ResponseHandler, Source {
  readonly isSentOnce: boolean
  readonly #exchange: Exchange
  readonly #endpoint: Endpoint
  readonly #manner: Manner
  readonly #attempt: Attempt
  readonly #resolve: (answer: Answer) => void
  readonly #reject: (error: GatewayError) => void
  readonly #alarm: Alarm
  readonly #answer: AnswerQueue
  /** The request; rendered anew each time it is sent. */
  #head = ''
  #body: RequestContent = []
  #upload: Upload | null = null
  #trace: AttemptTrace | null = null
  /** What it goes out on; null: it waits for a connection. */
  #connection: Connection | null = null
  /** The status of the answer; 0: its head has not come. */
  #status = 0
  /** Whether the body is being taken, so that a gap in it is the upstream's. */
  #flowing = false
  /** Whether it counts for how long the endpoint takes. */
  #timed = false
  #over = false
  #sentAgain = false

  constructor(
    exchange: Exchange,
    endpoint: Endpoint,
    manner: Manner,
    resolve: (answer: Answer) => void,
    reject: (error: GatewayError) => void,
  ) {
    this.isSentOnce = exchange.operation.method === 'POST'
    this.#exchange = exchange
    this.#endpoint = endpoint
    this.#manner = manner
    this.#resolve = resolve
    this.#reject = reject
    this.#attempt = { endpoint: endpoint.name, startedAt: now(), endedAt: null, before: exchange.attempt }
    this.#alarm = new Alarm(() => this.#end(this.#status > 0 ? stalled() : new GatewayError('headers-timeout')))
    this.#answer = new AnswerQueue(this)
    endpoint.inFlight++
    exchange.attempt = this.#attempt
    exchange.attempts++
    exchange.whenAborted((reason) => this.#end(reason))
  }

  /** Sends it; `body` was read first, null: it streams, if there is any. */
  begin(body: readonly Buffer[] | null): void {
    this.#body = body ?? this.#stream() ?? []
    // How long the answer to an upload takes is the client's to say as much as the endpoint's.
    this.#timed = this.#manner.watch !== null && this.#upload === null
    if (this.#timed) this.#endpoint.standing.latency.begun(this.#attempt.startedAt)
    try {
      this.#render()
      this.#endpoint.acquire(this)
    } catch (error) {
      this.onError(GatewayError.from(error))
    }
  }

  onConnection(connection: Connection): boolean {
    if (this.#over) return false // ended while it waited for a connection
    this.#connection = connection
    this.#alarm.set(this.#manner.headersTimeoutMs)
    connection.send(this, this.#head, this.#body, this.#exchange.body.length)
    return true
  }

  onInterim(status: number, fields: string[]): void {
    const { onInterim } = this.#exchange
    if (onInterim === null || status > 103) return
    const { editInterim } = this.#manner
    this.#exchange.begun = true
    onInterim(status, editInterim === null ? fields : editInterim(fields))
  }

  onHead(status: number, reason: string, fields: string[]): void {
    this.#status = status
    this.#alarm.clear() // until the body is taken: a small one is there by then
    if (this.#timed) {
      const at = now()
      this.#endpoint.standing.latency.heard(at - this.#attempt.startedAt, at, outcomeOf(status) === 'failure')
    }
    const { editAnswer } = this.#manner
    this.#resolve({
      status,
      reason,
      fields: editAnswer === null ? fields : editAnswer(fields),
      body: this.#answer,
    })
  }

  onBody(chunk: Buffer): void {
    if (this.#flowing) this.#alarm.set(this.#manner.bodyTimeoutMs)
    this.#answer.push(chunk)
  }

  onEnd(): void {
    // An answer may come before its request has been written; and another attempt may still be writing.
    this.#exchange.bodySent = this.#connection?.hasWritten === true && this.#exchange.attempts === 1
    this.#settle(outcomeOf(this.#status), this.#status)
    this.#answer.end()
  }

  onError(error: GatewayError): void {
    if (this.#over) return
    const connection = this.#connection
    if (connection !== null && this.#maySendAgain(connection)) this.#sendAgain(connection, error)
    else this.#fail(error)
  }

  pause(): void {
    this.#flowing = false
    this.#alarm.clear() // the client is slow, not the upstream
    if (!this.#over) this.#connection?.pause()
  }

  resume(): void {
    if (this.#over) return
    this.#flowing = true
    this.#alarm.set(this.#manner.bodyTimeoutMs)
    this.#connection?.resume()
  }

  cancel(): void {
    if (this.#over) return
    this.#settle(outcomeOf(this.#status), this.#status)
    this.#connection?.abort()
  }

  /** Streams the request body; the wait for headers counts only while the client is not the one waited for. */
  #stream(): Upload | null {
    const { body } = this.#exchange
    if (body.length === 0) return null
    this.#upload = body.stream((waitingForClient) => {
      if (this.#over) return // as it was then, it stays
      this.#exchange.waitsForClient = waitingForClient
      if (this.#status > 0) return
      if (waitingForClient) this.#alarm.clear()
      else this.#alarm.set(this.#manner.headersTimeoutMs)
    })
    return this.#upload
  }

  /** Ends it for a reason of the gateway's or the client's. */
  #end(reason: GatewayError): void {
    if (this.#over) return
    const waited = this.#connection === null && this.#endpoint.connections.withdraw(this)
    this.#fail(reason, waited ? 'nothing' : outcomeOfFailure(reason, this.#exchange))
    this.#connection?.abort()
  }

  #fail(failure: GatewayError, outcome = outcomeOfFailure(failure, this.#exchange)): void {
    this.#settle(outcome, failure)
    if (this.#status > 0) this.#answer.fail(failure)
    else this.#reject(failure)
  }

  /**
   * A connection may be closed for having been idle just when a request goes out on it. Then one that was not written, or is safe, is sent once
   * more, on a fresh connection (RFC 9110 §9.2.2, RFC 9112 §9.3.1); of another one nobody can tell whether it was processed.
   */
  #maySendAgain({ isUnsent, isStale }: Connection): boolean {
    if (this.#sentAgain || this.#endpoint.connections.isCut) return false
    return isUnsent || (isStale && !this.isSentOnce && this.#upload === null && !this.#exchange.begun)
  }

  #sendAgain({ isUnsent }: Connection, error: GatewayError): void {
    this.#sentAgain = true
    this.#connection = null
    this.#alarm.clear()
    if (!isUnsent) {
      this.#trace?.end(null, error)
      this.#exchange.attempts++
      this.#render()
    }
    this.#endpoint.connections.replace(this)
  }

  /** Renders the request anew each time it is sent: a trace tells one sending from another. */
  #render(): void {
    const { trace, fields } = this.#exchange
    this.#trace = trace === null ? null : trace.attempt(this.#endpoint.name)
    this.#head = this.#manner.render(this.#exchange, this.#trace?.fields(fields) ?? fields)
  }

  #settle(outcome: Outcome, why: GatewayError | number): void {
    const { standing } = this.#endpoint
    const { watch } = this.#manner
    this.#over = true
    this.#endpoint.inFlight--
    this.#alarm.clear()
    this.#exchange.whenAborted(null)
    this.#upload?.stop()
    this.#attempt.endedAt = now()
    standing.count(outcome, why)
    noteIfFailed(this.#exchange, this.#endpoint.name, outcome, why, this.#manner.onFailure)
    if (this.#timed && this.#status === 0) standing.latency.ended(this.#attempt.endedAt, outcome === 'failure')
    watch?.(outcome, why, this.#attempt.startedAt)
    this.#trace?.end(this.#status === 0 ? null : this.#status, why instanceof GatewayError ? why : null)
  }
}

const stalled = (): GatewayError => new GatewayError('truncated', { reason: 'answer-stalled' })

/** Changes a list of fields as configured. */
export type Edit = (fields: Fields) => Fields

/**
 * Compiles configured edits: `remove` first, then `set` replaces whatever has the name. Null when there is nothing to do. Names are the
 * same that `fold` makes the same.
 */
export const edit = ({ set, remove }: FieldEdits, fold = toLowerCase): Edit | null => {
  if (set.length === 0 && remove.length === 0) return null
  const gone = new Set([...remove, ...set.map(({ name }) => name)].map(fold))
  const added = set.flatMap(({ name, value }) => [name, value])
  return (fields) => {
    const kept: string[] = []
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      if (!gone.has(fold(name))) kept.push(name, fields[i + 1] as string)
    }
    kept.push(...added)
    return kept
  }
}

const toLowerCase = (name: string): string => name.toLowerCase()
