import { CoalescedTimer, now } from '../../clock.ts'
import type { RetryConfig } from '../../config/config.ts'
import type { Exchange, Layer, ProxyResponse } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import { failureTable } from '../../failures/kinds.ts'
import { fieldNameEquals, getFieldValues, type HeaderFields } from '../../header-fields.ts'

// Without a deadline, nobody is kept waiting longer because an upstream says so.
const maxRetryAfterMs = 30_000

/** Says what makes an operation one that may be processed twice. */
export interface Idempotency {
  /** Whether its method is safe (RFC 9110 §9.2.1). */
  readonly safe: boolean
  /** Whether the upstream processes requests with the same `Idempotency-Key` only once. */
  readonly keyed: boolean
}

/**
 * Tries again what failed. What was never sent is tried whatever the method; what may have been processed, only when that does no harm:
 * a safe method, or a key by which the upstream tells that it has seen it already (RFC 9110 §9.2.2). Inside the deadline, so that all
 * attempts and the waits between them share one; outside of balancing, so that each attempt chooses again.
 */
export const retryLayer = (
  { attempts, on, backoff }: RetryConfig,
  budget: Pick<RetryBudget, 'requested' | 'take'>,
  idempotency: Idempotency,
  random: () => number = Math.random,
): Layer => {
  const causes: ReadonlySet<string | number> = new Set(on)
  /** Tells how long to wait before the next attempt; null: there is none. The budget comes last: what it gives is used. */
  const delayBefore = (
    exchange: Exchange,
    attemptsMade: number,
    mayHaveBeenSent: boolean,
    fields: HeaderFields,
  ): number | null => {
    if (attemptsMade >= attempts || exchange.responseStarted || exchange.aborted !== null) return null
    if (!(mayHaveBeenSent ? canRepeat(exchange, idempotency) : isBodySendable(exchange))) return null
    const retryAfter = retryAfterMs(fields)
    const ms = Math.max(retryAfter ?? 0, jitteredBackoff(backoff, attemptsMade, random))
    if (!fitsDeadline(exchange, ms, retryAfter)) return null
    return budget.take() ? ms : null
  }

  return (next) => {
    /** `earlier` is how the attempt before failed; null: it was the first, or the one before was answered. */
    const attempt = (
      exchange: Exchange,
      attemptsMade: number,
      previousError: GatewayError | null,
    ): Promise<ProxyResponse> => {
      const attemptsBefore = exchange.attempts
      return next(exchange).then(
        (response) => (causes.has(response.status) ? onResponse(exchange, attemptsMade, response) : response),
        (error) => {
          // It reached no endpoint, as when a breaker has opened meanwhile: the attempt before says more of the upstream.
          if (previousError !== null && exchange.attempts === attemptsBefore && exchange.aborted === null)
            throw previousError
          return onError(exchange, attemptsMade, error)
        },
      )
    }

    const onResponse = (
      exchange: Exchange,
      attemptsMade: number,
      response: ProxyResponse,
    ): ProxyResponse | Promise<ProxyResponse> => {
      const ms = delayBefore(exchange, attemptsMade, true, response.fields)
      if (ms === null) return response
      response.body.discard() // before the wait: the connection is of use to others
      return sleepUnlessAborted(exchange, ms).then(() => attempt(exchange, attemptsMade + 1, null))
    }

    const onError = async (exchange: Exchange, attemptsMade: number, error: unknown): Promise<ProxyResponse> => {
      if (!(error instanceof GatewayError) || !causes.has(error.kind)) throw error
      const allowed = failureTable[error.kind].retry
      const ms =
        allowed === 'never' ? null : delayBefore(exchange, attemptsMade, allowed === 'replayable', error.fields)
      if (ms === null) throw error
      await sleepUnlessAborted(exchange, ms)
      return attempt(exchange, attemptsMade + 1, error)
    }

    return (exchange) => {
      budget.requested()
      return attempt(exchange, 1, null)
    }
  }
}

/** Tells whether a request that may have been processed can be sent again. */
const canRepeat = ({ body, fields }: Exchange, { safe, keyed }: Idempotency): boolean =>
  (body.length === 0 || body.replayable) && (safe || (keyed && hasKey(fields)))

/** Tells whether the body of a request that was not sent is still there to be sent: a body that streams is read but once. */
const isBodySendable = ({ body }: Exchange): boolean => body.length === 0 || body.replayable || !body.started

// Of two keys nobody can tell which one the upstream goes by; a CGI-like one reads Idempotency_Key as a second.
const hasKey = (fields: HeaderFields): boolean => {
  let keys = 0
  let isSound = false
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (!fieldNameEquals(name.replace('_', '-'), 'idempotency-key')) continue
    keys++
    isSound = !name.includes('_') && (fields[i + 1] as string).trim() !== ''
  }
  return keys === 1 && isSound
}

/** Draws from the whole range up to a bound that doubles: those that failed together do not come back together ("full jitter"). */
const jitteredBackoff = ({ base, max }: RetryConfig['backoff'], attemptsMade: number, random: () => number): number =>
  Math.round(random() * Math.min(max, base * 2 ** (attemptsMade - 1)))

const fitsDeadline = ({ deadlineAt }: Exchange, ms: number, retryAfter: number | null): boolean =>
  deadlineAt === null ? retryAfter === null || retryAfter <= maxRetryAfterMs : now() + ms < deadlineAt

/** Waits, unless the exchange ends in the meantime: then it rejects with the reason, at once. */
const sleepUnlessAborted = (exchange: Exchange, ms: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const alarm = new CoalescedTimer(() => {
      exchange.setAbortListener(null)
      resolve()
    })
    alarm.set(ms)
    exchange.setAbortListener((reason) => {
      alarm.clear()
      exchange.setAbortListener(null)
      reject(reason)
    })
  })

// The longest that a timer of Node's can wait, in whole seconds.
const maxSeconds = 2_147_483

/**
 * Reads for how many milliseconds an answer asks to wait. Only `Retry-After` in delta-seconds (RFC 9110 §10.2.3) is followed: what a date
 * means depends on two clocks, and of several fields nobody can tell which one holds. Null: nothing that is followed.
 */
export const retryAfterMs = (fields: HeaderFields): number | null => {
  const [found = '', ...others] = getFieldValues(fields, 'retry-after')
  return others.length === 0 && deltaSeconds.test(found) ? Math.min(Number(found), maxSeconds) * 1000 : null
}

const deltaSeconds = /^[ \t]*[0-9]+[ \t]*$/

// What time brings in so many seconds is there from the start, and all that time ever saves up.
const advanceSeconds = 1

// Of how many requests the share is saved up: enough for a hiccup, too little to double the load of an upstream that breaks down.
const rememberedRequests = 100

/**
 * Bounds the retries to an upstream: each request brings a share of a token, time brings some more, each retry takes one. So many retries
 * are made when few fail, and hardly any when all do: they would only keep down what is overloaded.
 *
 * What it starts with is what time will bring, paid in advance: until that time is over, time brings nothing. Whenever as much is there
 * again, it counts as such an advance. So even an upstream that was quiet, and then fails at every request of a steady load, is sent no
 * more retries than the share of those requests and the floor of the time that they took, once they took as long as the advance.
 */
export class RetryBudget {
  readonly #share: number
  readonly #floorPerMs: number
  readonly #initialTokens: number
  readonly #maxTokens: number
  readonly #advanceMs: number
  #tokens: number
  /** Since when time has brought nothing; in the future while an advance is paid back. */
  #since: number
  /** Requests whose share has not been added yet. */
  #requests = 0

  constructor({ share, floor }: RetryConfig['budget']) {
    this.#share = share
    this.#floorPerMs = floor / 1000
    // With a floor of less than one a second, the first one would never be whole.
    this.#initialTokens = floor === 0 ? 0 : Math.max(1, floor * advanceSeconds)
    this.#maxTokens = Math.max(1, this.#initialTokens, share * rememberedRequests)
    this.#advanceMs = floor === 0 ? 0 : this.#initialTokens / this.#floorPerMs
    this.#tokens = this.#initialTokens
    this.#since = now()
  }

  /** Counts a request, however often it is sent. */
  requested(): void {
    this.#requests++
  }

  /** Takes a token for a retry; false: there is none. */
  take(): boolean {
    this.#refill()
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  /** Tells how many retries are allowed just now. */
  get left(): number {
    this.#refill()
    return Math.floor(this.#tokens)
  }

  #refill(): void {
    const at = now()
    if (at > this.#since) {
      const accrued = (at - this.#since) * this.#floorPerMs
      if (this.#tokens < this.#initialTokens) this.#tokens = Math.min(this.#initialTokens, this.#tokens + accrued)
      this.#since = at
    }
    this.#tokens = Math.min(this.#maxTokens, this.#tokens + this.#requests * this.#share)
    this.#requests = 0
    if (this.#tokens >= this.#initialTokens) this.#since = at + this.#advanceMs
  }
}
