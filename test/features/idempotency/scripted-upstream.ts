/** An upstream whose attempts end as a test says, and that counts what it has processed. */
import type { BodySink, ResponseBody } from '../../../src/core/exchange/body.ts'
import type { Exchange, Handler, ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import { GatewayError, overloadedError } from '../../../src/core/exchange/failures/errors.ts'
import { epochMs, now } from '../../../src/core/lib/clock.ts'

type BodyKind = 'whole' | 'chunks' | 'truncated'

/** What becomes of a request; with neither a status nor a failure, the upstream is silent. */
interface Decision {
  readonly isProcessed?: true
  /** Whether the failure says that nothing was sent. */
  readonly isUnsent?: true
  readonly failure?: () => GatewayError
  /** One of these, by turns. */
  readonly statuses?: readonly number[]
  readonly body?: BodyKind
  readonly bytes?: number
}

const ok = { isProcessed: true, statuses: [200, 201, 202, 303] } as const
const fail = (...why: ConstructorParameters<typeof GatewayError>) => ({ failure: () => new GatewayError(...why) })

/** Where the upstream is in a request when it fails, or what it says at the end. */
const decisions = {
  ok,
  'ok in chunks': { ...ok, body: 'chunks' },
  'too large': { ...ok, body: 'chunks', bytes: 2000 },
  truncated: { ...ok, body: 'truncated' },
  'not found': { isProcessed: true, statuses: [404] },
  rejected: { statuses: [401, 403, 408, 409, 425, 429] },
  error: { statuses: [500] },
  'error after processing': { isProcessed: true, statuses: [502], body: 'chunks' },
  'reset before processing': fail('reset-before-headers'),
  'reset after processing': { isProcessed: true, ...fail('reset-before-headers') },
  'connect failed': { isUnsent: true, ...fail('connect-failed') },
  'circuit open': { isUnsent: true, ...fail('circuit-open') },
  'no place': { isUnsent: true, failure: () => overloadedError('endpoint-connections') },
  'breaks the contract': { isProcessed: true, ...fail('invalid-response', { reason: 'contract-response-body' }) },
  'no room for its check': { isProcessed: true, failure: () => overloadedError('buffered-bodies') },
  'processed in silence': { isProcessed: true },
} as const satisfies Record<string, Decision>

export type Outcome = keyof typeof decisions

export const outcomes = Object.keys(decisions) as Outcome[]

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
              const decision: Decision = decisions[outcome]
              // What an upstream cannot say of a request that it has processed.
              const isDenial = decision.isUnsent === true || outcome === 'rejected'
              if (!isWhole || sending.isEnded || (sending.isProcessed && isDenial)) return
              sending.isProcessed ||= decision.isProcessed === true
              const response = this.#respond(sending, nth, decision)
              sending.isEnded = response !== null || decision.failure !== undefined
              await running()
              if (response !== null) hear(() => resolve(response))
              if (decision.failure === undefined) return
              if (decision.isUnsent) exchange.attempts.wasSent = false
              hear(() => reject(decision.failure?.()))
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

  #respond({ name, requestId }: Sending, nth: number, decision: Decision): ProxyResponse | null {
    const { statuses, body: kind = 'whole', bytes = 40 } = decision
    if (statuses === undefined) return null
    const status = statuses[nth % statuses.length] as number
    const text = `${nth}:`.padEnd(bytes, 'x')
    const fields = ['X-Nth', String(nth), 'Set-Cookie', `a=${nth}`, 'Date', new Date(epochMs()).toUTCString()]
    if (kind !== 'truncated') this.responses.set(String(nth), { name, requestId, status, fields, text })
    return { status, reason: status === 202 ? 'Taken' : '', fields, body: sentBody(text, kind) }
  }
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

const sentBody = (text: string, kind: BodyKind): ResponseBody => ({
  isShared: false,
  takeBuffered: () => (kind === 'whole' ? Buffer.from(text) : null),
  consume: (sink: BodySink): void => {
    for (let at = 0; at < text.length; at += 500) sink.data(Buffer.from(text.slice(at, at + 500)))
    if (kind === 'truncated') sink.fail(new GatewayError('truncated'))
    else sink.end()
  },
  resume: () => {},
  discard: () => {},
})
