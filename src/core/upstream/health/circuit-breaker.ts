import type { CircuitBreakerConfig } from '../../config/config.ts'
import type { Exchange, Handler, Layer } from '../../exchange/exchange.ts'
import { FailedAttempt, GatewayError, type ReasonFor } from '../../exchange/failures/errors.ts'
import { epochMs, now } from '../../lib/clock.ts'
import { type AttemptOutcome, classifyFailure, classifyStatus, SlidingWindow } from '../attempt/attempt-outcome.ts'

export type BreakerState = 'closed' | 'open' | 'half-open'

type OnBreakerChange = (state: BreakerState, lastFailure: FailedAttempt | null) => void

/** Has no timer: the end of openFor shows at the next request or read of the state. */
export class CircuitBreaker {
  readonly #config: CircuitBreakerConfig
  readonly #onChange: OnBreakerChange
  readonly #window: SlidingWindow
  #state: BreakerState = 'closed'
  #since = epochMs()
  lastFailure: FailedAttempt | null = null
  /** Null: no failure since the last success. */
  #failingSince: number | null = null
  /** Null: the breaker is closed. */
  outageSince: number | null = null
  /** Counts changes of state: a request counts only in the state in which it began. */
  #generation = 0
  #activeProbes = 0
  #succeededProbes = 0
  #maxProbes = 0
  /** On the monotonic clock. */
  #nextAt = 0

  constructor(config: CircuitBreakerConfig, onChange: OnBreakerChange) {
    this.#config = config
    this.#onChange = onChange
    this.#window = new SlidingWindow(config.window)
  }

  get state(): BreakerState {
    return this.#isOpenExpired() ? 'half-open' : this.#state
  }

  /** In ms since the epoch. */
  get since(): number {
    return this.#isOpenExpired() ? this.#since + this.#config.openFor : this.#since
  }

  get openForMs(): number | null {
    return this.state === 'open' ? this.#nextAt - now() : null
  }

  /** A response counts by its head; a body that is cut later does not. */
  readonly layer: Layer = (next: Handler) => {
    const circuitBreaker = async (exchange: Exchange) => {
      const generation = this.#acquire()
      try {
        const response = await next(exchange)
        this.#release(generation, classifyStatus(response.status), response.status, exchange)
        return response
      } catch (thrown) {
        const error = GatewayError.from(thrown)
        this.#release(generation, classifyUpstreamFailure(error, exchange), error, exchange)
        throw thrown
      }
    }
    return circuitBreaker
  }

  #acquire(): number {
    if (this.#isOpenExpired()) this.#transition('half-open')
    if (this.#state === 'open') throw this.#rejection('breaker-open', this.#nextAt - now())
    if (this.#state === 'half-open') {
      if (this.#activeProbes + this.#succeededProbes >= this.#maxProbes) {
        if (now() < this.#nextAt) throw this.#rejection('breaker-proving', 0)
        // Uploads without end must not use up the probes.
        this.#maxProbes += this.#config.probes
        this.#nextAt = now() + this.#config.openFor
      }
      this.#activeProbes++
    }
    return this.#generation
  }

  #release(
    generation: number,
    outcome: AttemptOutcome,
    errorOrStatus: GatewayError | number,
    { attempts }: Exchange,
  ): void {
    if (outcome === 'success') this.#failingSince = null
    if (outcome === 'failure') {
      this.lastFailure = new FailedAttempt(attempts.last?.endpoint ?? 'the upstream', errorOrStatus, epochMs())
      this.#failingSince ??= this.lastFailure.at
    }
    if (generation !== this.#generation) return
    if (this.#state === 'half-open') this.#recordProbe(outcome)
    else if (outcome !== 'nothing') this.#record(outcome === 'failure')
  }

  #recordProbe(outcome: AttemptOutcome): void {
    this.#activeProbes--
    if (outcome === 'failure') return this.#transition('open')
    if (outcome === 'success' && ++this.#succeededProbes >= this.#config.probes) this.#transition('closed')
  }

  #record(failed: boolean): void {
    const at = now()
    this.#window.record(failed, at)
    const requests = this.#window.requests(at)
    const failures = this.#window.failures(at)
    if (requests >= this.#config.minRequests && failures >= this.#config.failureRate * requests)
      this.#transition('open')
  }

  #isOpenExpired(): boolean {
    return this.#state === 'open' && now() >= this.#nextAt
  }

  /** RFC 9110 §10.2.3: whole seconds. At least 1, or clients would return at once. */
  #rejection(reason: ReasonFor<'circuit-open'>, afterMs: number): GatewayError {
    const fields = ['Retry-After', String(Math.max(1, Math.ceil(afterMs / 1000)))]
    return new GatewayError('circuit-open', { reason, fields, cause: this.lastFailure ?? undefined })
  }

  #transition(state: BreakerState): void {
    if (state === 'open') this.outageSince ??= this.#failingSince ?? epochMs()
    if (state === 'closed') this.outageSince = null
    this.#state = state
    this.#since = epochMs()
    this.#generation++
    this.#activeProbes = 0
    this.#succeededProbes = 0
    this.#maxProbes = this.#config.probes
    this.#nextAt = now() + this.#config.openFor
    this.#window.clear()
    this.#onChange(state, this.lastFailure)
  }
}

/**
 * Every endpoint drains or has weight 0: opening would protect no endpoint, hide the reason, and reject requests for
 * openFor after an endpoint is ready.
 */
const classifyUpstreamFailure = (error: GatewayError, exchange: Exchange): AttemptOutcome =>
  error.kind === 'no-healthy-endpoint' ? 'nothing' : classifyFailure(error, exchange)
