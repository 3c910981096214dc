/** An upstream whose attempts end as a test says, and that counts what it has processed. */
import type { BodySink, ResponseBody } from '../../../src/core/exchange/body.ts'
import type { Exchange, Handler, ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import { GatewayError, overloadedError } from '../../../src/core/exchange/failures/errors.ts'
import { epochMs, now } from '../../../src/core/lib/clock.ts'

/** Where the upstream is in a request when it fails, or what it says at the end. */
export const outcomes = [
  'ok',
  'ok in chunks',
  'too large',
  'not found',
  'refused',
  'error',
  'error after processing',
  'truncated',
  'reset before processing',
  'reset after processing',
  'connect failed',
  'circuit open',
  'no place',
  'breaks the contract',
  'no room for its check',
  'processed in silence',
] as const

export type Outcome = (typeof outcomes)[number]

// What an upstream cannot say of a request that it has processed.
const unsent: readonly Outcome[] = ['connect failed', 'circuit open', 'no place']
const denials: readonly Outcome[] = ['refused', ...unsent]

/** One sending of a request. */
export interface Sending {
  readonly requestId: string
  /** Client, operation and key. */
  readonly name: string
  readonly startedAt: number
  isProcessed: boolean
  /** Whether the upstream has said its last. */
  isEnded: boolean
  end(outcome: Outcome): void
}

/** A response as it was sent. */
export interface SentResponse {
  readonly name: string
  readonly requestId: string
  readonly status: number
  readonly fields: readonly string[]
  readonly text: string
}

const okStatuses = [200, 201, 202, 303]
const refusals = [401, 403, 408, 409, 425, 429]

/** Remembers what was sent to it, and what it said. */
export class ScriptedUpstream {
  readonly sendings: Sending[] = []
  /** Every response with a whole body, by the number that it carries. */
  readonly responses = new Map<string, SentResponse>()
  /** Connections that are open now. */
  get pending(): readonly Sending[] {
    return this.sendings.filter(({ isEnded }) => !isEnded)
  }

  /** Sends a request as the attempts of an upstream do. What comes of it is heard once the gateway runs. */
  readonly send =
    (nameOf: (exchange: Exchange) => string, running: () => Promise<void> | undefined): Handler =>
    (exchange) =>
      new Promise((resolve, reject) => {
        if (exchange.aborted !== null) return reject(exchange.aborted)
        const nth = this.sendings.length
        let isHeard = false
        const hear = (listener: () => void): void => {
          if (isHeard) return
          isHeard = true
          exchange.setAbortListener(null)
          listener()
        }
        const read = readAll(exchange)
        const sending: Sending = {
          requestId: exchange.requestId,
          name: nameOf(exchange),
          startedAt: now(),
          isProcessed: false,
          isEnded: false,
          end: (outcome) =>
            void read.then(async (isWhole) => {
              if (!isWhole || sending.isEnded || (sending.isProcessed && denials.includes(outcome))) return
              const { isProcessed = false, response, failure } = this.#decide(sending, nth, outcome)
              sending.isProcessed ||= isProcessed
              sending.isEnded = response !== undefined || failure !== undefined
              await running()
              if (response !== undefined) hear(() => resolve(response))
              if (failure !== undefined) hear(() => reject(note(exchange, outcome, failure)))
            }),
        }
        exchange.attempts.count++
        exchange.attempts.wasSent = true
        exchange.setAbortListener((reason) => {
          // What the gateway gives up may have been processed, or may be only now.
          sending.isProcessed ||= !sending.isEnded && nth % 2 === 0 && exchange.body.received
          sending.isEnded = true
          hear(() => reject(reason))
        })
        this.sendings.push(sending)
      })

  #decide(sending: Sending, nth: number, outcome: Outcome): Decision {
    const respond = (status: number, kind: BodyKind = 'whole', bytes = 40): ProxyResponse => {
      const text = `${nth}:`.padEnd(bytes, 'x')
      const fields = ['X-Nth', String(nth), 'Set-Cookie', `a=${nth}`, 'Date', new Date(epochMs()).toUTCString()]
      if (kind !== 'truncated')
        this.responses.set(String(nth), { name: sending.name, requestId: sending.requestId, status, fields, text })
      return { status, reason: status === 202 ? 'Taken' : '', fields, body: new SentBody(text, kind) }
    }
    const status = okStatuses[nth % okStatuses.length] as number
    switch (outcome) {
      case 'ok':
        return { isProcessed: true, response: respond(status) }
      case 'ok in chunks':
        return { isProcessed: true, response: respond(status, 'chunks') }
      case 'too large':
        return { isProcessed: true, response: respond(status, 'chunks', 2000) }
      case 'truncated':
        return { isProcessed: true, response: respond(status, 'truncated') }
      case 'not found':
        return { isProcessed: true, response: respond(404) }
      case 'refused':
        return { response: respond(refusals[nth % refusals.length] as number) }
      case 'error':
        return { response: respond(500) }
      case 'error after processing':
        return { isProcessed: true, response: respond(502, 'chunks') }
      case 'reset before processing':
        return { failure: new GatewayError('reset-before-headers') }
      case 'reset after processing':
        return { isProcessed: true, failure: new GatewayError('reset-before-headers') }
      case 'connect failed':
        return { failure: new GatewayError('connect-failed') }
      case 'circuit open':
        return { failure: new GatewayError('circuit-open') }
      case 'no place':
        return { failure: overloadedError('endpoint-connections') }
      case 'breaks the contract':
        return { isProcessed: true, failure: new GatewayError('invalid-response', { reason: 'contract-answer-body' }) }
      case 'no room for its check':
        return { isProcessed: true, failure: overloadedError('buffered-bodies') }
      case 'processed in silence':
        return { isProcessed: true }
    }
  }
}

/** What becomes of a request; with neither response nor failure, the upstream is silent. */
interface Decision {
  readonly isProcessed?: boolean
  readonly response?: ProxyResponse
  readonly failure?: GatewayError
}

/** Notes a failure at its exchange as an attempt does. */
const note = (exchange: Exchange, outcome: Outcome, failure: GatewayError): GatewayError => {
  if (unsent.includes(outcome)) exchange.attempts.wasSent = false
  return failure
}

/** Reads a request's body to its end; false: it has none. */
const readAll = async ({ body }: Exchange): Promise<boolean> => {
  try {
    if (body.replayable || body.length === 0) await body.read()
    else for await (const _ of body.stream(() => {}));
    return true
  } catch {
    return false
  }
}

type BodyKind = 'whole' | 'chunks' | 'truncated'

class SentBody implements ResponseBody {
  readonly isShared = false
  readonly #text: string
  readonly #kind: BodyKind

  constructor(text: string, kind: BodyKind) {
    this.#text = text
    this.#kind = kind
  }

  takeBuffered(): Buffer | null {
    return this.#kind === 'whole' ? Buffer.from(this.#text) : null
  }

  consume(sink: BodySink): void {
    for (let at = 0; at < this.#text.length; at += 500) sink.data(Buffer.from(this.#text.slice(at, at + 500)))
    if (this.#kind === 'truncated') sink.fail(new GatewayError('truncated'))
    else sink.end()
  }

  resume(): void {}

  discard(): void {}
}
