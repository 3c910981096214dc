import type { Exchange, Layer, ProxyResponse } from '../../core/exchange/exchange.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { failureTable } from '../../core/exchange/failures/kinds.ts'
import { foldUnderscores, getFieldValues, type HeaderFields } from '../../core/exchange/header-fields.ts'
import { parseHttpDate } from '../../core/exchange/http1/http-date.ts'
import { sleepUnlessAborted } from '../../core/exchange/sleep-unless-aborted.ts'
import { epochMs, now } from '../../core/lib/clock.ts'
import type { Side } from '../../operations.ts'
import type { RetryConfig } from './config.ts'

// The longest wait that a Retry-After imposes on an exchange without a deadline.
const maxRetryAfterMs = 30_000

/** The facts that allow an operation to be processed twice. */
export interface Idempotency {
  /** Whether the method is safe (RFC 9110 §9.2.1). */
  readonly safe: boolean
  /**
   * The field, in lower case, of the key by which the upstream recognises a request that it has processed. Null: it
   * recognises none.
   */
  readonly keyField: string | null
  /** What differs at the candidate; null or left out: the group has none in use. */
  readonly candidate?: {
    readonly keyField: string | null
    /**
     * Whether the next attempt goes to the primary. One that relies on a key does not: the primary may not recognise
     * what the candidate has processed.
     */
    readonly fallback: boolean
  } | null
}

/** What limits retries. `take`: takes a token for a retry at a side; false: there is none. */
export interface RetryAllowance {
  requested(): void
  take(side: Side | null): boolean
}

interface NextAttempt {
  readonly delayMs: number
  readonly fallsBack: boolean
}

/**
 * Repeats an attempt that failed. A request that was never sent is repeated whatever its method. A request that may
 * have been processed is repeated only when that does no harm: its method is safe, or a key lets the upstream recognise
 * it (RFC 9110 §9.2.2). The layer stands inside the deadline, so that all attempts and the waits between them share
 * one; and outside the balancing, so that each attempt chooses an endpoint again.
 */
export const retryLayer = (
  { attempts, on, backoff }: RetryConfig,
  budget: RetryAllowance,
  idempotency: Idempotency,
  random: () => number = Math.random,
): Layer => {
  const causes: ReadonlySet<string | number> = new Set(on)
  /**
   * Plans what follows the nth attempt, which had an error, or a response (null); null: nothing. The budget comes last,
   * because a token that it gives is spent.
   */
  const planNext = (
    exchange: Exchange,
    nth: number,
    error: GatewayError | null,
    fields: HeaderFields,
  ): NextAttempt | null => {
    if (nth >= attempts || exchange.responseStarted || exchange.aborted !== null) return null
    const rule = error === null ? 'replayable' : failureTable[error.kind].retry
    if (rule === 'never') return null
    if (!(rule === 'replayable' ? canRepeat(exchange, idempotency) : isBodySendable(exchange))) return null
    const fallsBack = mayFallBack(exchange, idempotency)
    const retryAfter = fallsBack ? null : retryAfterMs(fields) // the primary has not asked for it
    const delayMs = Math.max(retryAfter ?? 0, jitteredBackoff(backoff, nth, random))
    if (!fitsDeadline(exchange, delayMs, retryAfter)) return null
    return budget.take(fallsBack ? 'primary' : exchange.servingSide) ? { delayMs, fallsBack } : null
  }

  return (next) => {
    /**
     * `previousError` is the failure of the attempt before; null: this is the first, or the one before had a response.
     */
    const attempt = (exchange: Exchange, nth: number, previousError: GatewayError | null): Promise<ProxyResponse> => {
      const attemptsBefore = exchange.attempts.count
      return next(exchange).then(
        (response) => (causes.has(response.status) ? onResponse(exchange, nth, response) : response),
        (error) => {
          // It reached no endpoint, for example because a breaker has opened: the attempt before says more of the
          // upstream.
          if (previousError !== null && exchange.attempts.count === attemptsBefore && exchange.aborted === null)
            throw previousError
          return onError(exchange, nth, error)
        },
      )
    }

    const onResponse = (
      exchange: Exchange,
      nth: number,
      response: ProxyResponse,
    ): ProxyResponse | Promise<ProxyResponse> => {
      const planned = planNext(exchange, nth, null, response.fields)
      if (planned === null) return response
      response.body.discard() // before the wait: the connection is of use to others
      return attemptAgain(exchange, nth, planned, null)
    }

    const onError = async (exchange: Exchange, nth: number, error: unknown): Promise<ProxyResponse> => {
      if (!(error instanceof GatewayError) || !causes.has(error.kind)) throw error
      const planned = planNext(exchange, nth, error, error.fields)
      if (planned === null) throw error
      return attemptAgain(exchange, nth, planned, error)
    }

    const attemptAgain = async (
      exchange: Exchange,
      nth: number,
      { delayMs, fallsBack }: NextAttempt,
      previousError: GatewayError | null,
    ): Promise<ProxyResponse> => {
      await sleepUnlessAborted(exchange, delayMs)
      if (fallsBack) exchange.attempts.fellBack = true
      return attempt(exchange, nth + 1, previousError)
    }

    return (exchange) => {
      budget.requested()
      return attempt(exchange, 1, null)
    }
  }
}

/** Tells whether a request that may have been processed can be sent again, to the side that may have processed it. */
const canRepeat = ({ body, fields, servingSide }: Exchange, { safe, keyField, candidate }: Idempotency): boolean => {
  if (body.length !== 0 && !body.replayable) return false
  const field = servingSide === 'candidate' && candidate != null ? candidate.keyField : keyField
  return safe || (field !== null && hasKey(fields, field))
}

/** Tells whether the next attempt leaves the candidate. A key is known only to the side that it was sent to. */
const mayFallBack = ({ servingSide, attempts }: Exchange, { safe, candidate }: Idempotency): boolean =>
  servingSide === 'candidate' && candidate?.fallback === true && (safe || !attempts.wasSent)

/** Tells whether the body of an unsent request is still there to be sent: a body that streams is read only once. */
const isBodySendable = ({ body }: Exchange): boolean => body.length === 0 || body.replayable || !body.started

// With two keys, the gateway cannot know which one the upstream uses; a CGI-like upstream reads Idempotency_Key as a
// second.
const hasKey = (fields: HeaderFields, keyField: string): boolean => {
  let keys = 0
  let isSound = false
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (name.length !== keyField.length || foldUnderscores(name) !== keyField) continue
    keys++
    isSound = !name.includes('_') && (fields[i + 1] as string).trim() !== ''
  }
  return keys === 1 && isSound
}

/**
 * Draws from the whole range up to a limit that doubles, so that requests that failed together do not come back
 * together ("full jitter").
 */
const jitteredBackoff = ({ base, max }: RetryConfig['backoff'], nth: number, random: () => number): number =>
  Math.round(random() * Math.min(max, base * 2 ** (nth - 1)))

const fitsDeadline = ({ deadlineAt }: Exchange, ms: number, retryAfter: number | null): boolean =>
  deadlineAt === null ? retryAfter === null || retryAfter <= maxRetryAfterMs : now() + ms < deadlineAt

// The longest delay of a Node timer, in whole seconds.
const maxSeconds = 2_147_483

/**
 * Reads how many milliseconds a response asks to wait, by `Retry-After` (RFC 9110 §10.2.3): in delta-seconds, or until
 * a date. A date is compared with the response's own `Date`, so that the clocks of upstream and gateway may differ. Of
 * several fields it is unknown which one holds. Null: there is nothing to follow.
 */
export const retryAfterMs = (fields: HeaderFields): number | null => {
  const [found = '', ...others] = getFieldValues(fields, 'retry-after')
  if (others.length > 0) return null
  if (deltaSeconds.test(found)) return Math.min(Number(found), maxSeconds) * 1000
  const present = epochMs()
  const until = parseHttpDate(found, present)
  if (until === null) return null
  const [date] = getFieldValues(fields, 'date')
  const from = (date === undefined ? null : parseHttpDate(date, present)) ?? present
  return Math.min(Math.max(0, until - from), maxSeconds * 1000)
}

const deltaSeconds = /^[ \t]*[0-9]+[ \t]*$/
