import { type Exchange, type Layer, type ProxyResponse, sleepUnlessAborted } from '../../core/exchange/exchange.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { failureTable } from '../../core/exchange/failures/failure-table.ts'
import { foldUnderscores, getFieldValues, type HeaderFields } from '../../core/exchange/header-fields.ts'
import { parseHttpDate } from '../../core/exchange/http1/http-date.ts'
import { epochMs, now } from '../../core/lib/clock.ts'
import type { Side } from '../../operations.ts'
import type { RetryConfig } from './config.ts'

// The longest Retry-After that an exchange without a deadline waits for.
const maxRetryAfterMs = 30_000

export interface Idempotency {
  /** RFC 9110 §9.2.1 */
  readonly safe: boolean
  /** In lower case: the field of the key by which the upstream recognizes a repeated request. */
  readonly keyField: string | null
  /** Null or undefined: no candidate. */
  readonly candidate?: {
    readonly keyField: string | null
    /** The next attempt goes to the primary, unless it relies on a key, which the primary may not know. */
    readonly fallback: boolean
  } | null
}

/** `take` spends a token for a retry; false: none is left. */
export interface RetryAllowance {
  requested(): void
  take(side: Side | null): boolean
}

type NextAttempt = Readonly<{ delayMs: number; fallsBack: boolean }>

/**
 * Repeats failed attempts: of any method if the request was never sent, otherwise only if the method is safe or a key
 * lets the upstream recognize the request (RFC 9110 §9.2.2). Attempts and waits share the deadline, and each attempt
 * chooses an endpoint.
 */
export const retryLayer = (
  { attempts, on, backoff }: RetryConfig,
  budget: RetryAllowance,
  idempotency: Idempotency,
  random: () => number = Math.random,
): Layer => {
  const causes: ReadonlySet<string | number> = new Set(on)
  /** The budget comes last: its token is spent at once. */
  const planNext = (exchange: Exchange, nth: number, outcome: ProxyResponse | GatewayError): NextAttempt | null => {
    if (nth >= attempts || exchange.responseStarted || exchange.aborted !== null) return null
    const rule = outcome instanceof GatewayError ? failureTable[outcome.kind].retry : 'replayable'
    if (rule === 'never') return null
    if (!(rule === 'replayable' ? canRepeat(exchange, idempotency) : isBodySendable(exchange))) return null
    const fallsBack = mayFallBack(exchange, idempotency)
    const retryAfter = fallsBack ? null : retryAfterMs(outcome.fields) // the primary has not asked for it
    const delayMs = Math.max(retryAfter ?? 0, jitteredBackoff(backoff, nth, random))
    if (!fitsDeadline(exchange, delayMs, retryAfter)) return null
    return budget.take(fallsBack ? 'primary' : exchange.servingSide) ? { delayMs, fallsBack } : null
  }

  return (next) => {
    /** `previousError` null: the first attempt, or the previous attempt had a response. */
    const attempt = (exchange: Exchange, nth: number, previousError: GatewayError | null): Promise<ProxyResponse> => {
      const attemptsBefore = exchange.attempts.count
      return next(exchange).then(
        (response) => {
          const planned = causes.has(response.status) ? planNext(exchange, nth, response) : null
          if (planned === null) return response
          response.body.discard() // before the wait, so that others can use the connection
          return attemptAgain(exchange, nth, planned, null)
        },
        (error: unknown) => {
          // No endpoint was tried, for example because a breaker has opened: the previous error tells more.
          if (previousError !== null && exchange.attempts.count === attemptsBefore && exchange.aborted === null)
            throw previousError
          if (!(error instanceof GatewayError) || !causes.has(error.kind)) throw error
          const planned = planNext(exchange, nth, error)
          if (planned === null) throw error
          return attemptAgain(exchange, nth, planned, error)
        },
      )
    }

    const attemptAgain = async (exchange: Exchange, nth: number, planned: NextAttempt, error: GatewayError | null) => {
      await sleepUnlessAborted(exchange, planned.delayMs)
      if (planned.fallsBack) exchange.attempts.fellBack = true
      return attempt(exchange, nth + 1, error)
    }

    return (exchange) => {
      budget.requested()
      return attempt(exchange, 1, null)
    }
  }
}

/** Whether the side that may have processed the request can get it again. */
const canRepeat = ({ body, fields, servingSide }: Exchange, { safe, keyField, candidate }: Idempotency): boolean => {
  if (body.length !== 0 && !body.replayable) return false
  const field = servingSide === 'candidate' && candidate != null ? candidate.keyField : keyField
  return safe || (field !== null && hasKey(fields, field))
}

/** A key is known only to the side that got it. */
const mayFallBack = ({ servingSide, attempts }: Exchange, { safe, candidate }: Idempotency): boolean =>
  servingSide === 'candidate' && candidate?.fallback === true && (safe || !attempts.wasSent)

/** A streamed body can be read only once. */
const isBodySendable = ({ body }: Exchange): boolean => body.length === 0 || body.replayable || !body.started

// The upstream may use either of two keys; a CGI-like upstream reads Idempotency_Key as a second.
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

/** "Full jitter", with a limit that doubles: requests that failed together do not return together. */
const jitteredBackoff = ({ base, max }: RetryConfig['backoff'], nth: number, random: () => number): number =>
  Math.round(random() * Math.min(max, base * 2 ** (nth - 1)))

const fitsDeadline = ({ deadlineAt }: Exchange, ms: number, retryAfter: number | null): boolean =>
  deadlineAt === null ? retryAfter === null || retryAfter <= maxRetryAfterMs : now() + ms < deadlineAt

// The longest delay of a Node timer, in whole seconds.
const maxSeconds = 2_147_483

/** RFC 9110 §10.2.3, in ms. A date is compared with `Date`, because clocks differ. Null: none, or unusable. */
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
