import type { CircuitBreakerConfig } from '../../config/config.ts'
import type { Exchange, Handler, Layer } from '../../exchange/exchange.ts'
import { FailedAttempt, GatewayError, type ReasonFor } from '../../exchange/failures/errors.ts'
import { epochMs, now } from '../../lib/clock.ts'
import { type AttemptOutcome, classifyFailure, classifyStatus, SlidingWindow } from '../attempt/attempt-outcome.ts'

/** The state of a breaker: all requests pass, none does, or a few probes that test the upstream. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** Called after every change of state, with the last request that the upstream failed; null: none has. */
type OnBreakerChange = (state: BreakerState, lastFailure: FailedAttempt | null) => void

/**
 * Leaves a whole upstream alone while it fails.
 *
 *     closed ── failures ≥ failureRate of ≥ minRequests within the window ──▶ open
 *     open ── openFor is over ──▶ half-open
 *     half-open ── `probes` succeeded ──▶ closed, with an empty window
 *     half-open ── one failed ──▶ open
 *     half-open ── openFor over without a verdict ──▶ as many probes more
 *
 * It has no timer. The end of openFor shows at the next request, which calls `onChange`, and when the state is read.
 */
export class CircuitBreaker {
  readonly #config: CircuitBreakerConfig
  readonly #onChange: OnBreakerChange
  readonly #window: SlidingWindow
  #state: BreakerState = 'closed'
  #since = epochMs()
  #lastFailure: FailedAttempt | null = null
  /** When the first request failed since the last success, in ms since the epoch; null: none has. */
  #failingSince: number | null = null
  #outageSince: number | null = null
  /** The number of states so far: a request that began in an earlier one says nothing about this one. */
  #generation = 0
  /** Probes on their way, and those that succeeded. */
  #activeProbes = 0
  #succeededProbes = 0
  /** The maximum of both together. */
  #maxProbes = 0
  /** When an open breaker becomes half-open, and a half-open one lets more probes in, on the monotonic clock. */
  #nextAt = 0

  constructor(config: CircuitBreakerConfig, onChange: OnBreakerChange) {
    this.#config = config
    this.#onChange = onChange
    this.#window = new SlidingWindow(config.window)
  }

  get state(): BreakerState {
    return this.#isOpenExpired() ? 'half-open' : this.#state
  }

  /** When the state began, in ms since the epoch. */
  get since(): number {
    return this.#isOpenExpired() ? this.#since + this.#config.openFor : this.#since
  }

  /** The last request that the upstream failed: why the breaker is open, while it is. Null: none has failed. */
  get lastFailure(): FailedAttempt | null {
    return this.#lastFailure
  }

  /**
   * When the outage that opened it began, in ms since the epoch: it lasts until the breaker is closed. Null: it is
   * closed.
   */
  get outageSince(): number | null {
    return this.#outageSince
  }

  /** For how many ms it stays open: the next request after that tests the upstream. Null: it is not open. */
  get openForMs(): number | null {
    return this.state === 'open' ? this.#nextAt - now() : null
  }

  /**
   * Wraps the send of the upstream. Rejects with `circuit-open` and Retry-After before anything of the exchange is
   * touched, its body included. It judges by the head of the response: a body that is cut short comes too late for it.
   */
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

  /** Lets a request in, or throws. Returns the generation that it belongs to. */
  #acquire(): number {
    if (this.#isOpenExpired()) this.#transition('half-open')
    if (this.#state === 'open') throw this.#rejection('breaker-open', this.#nextAt - now())
    if (this.#state === 'half-open') {
      if (this.#activeProbes + this.#succeededProbes >= this.#maxProbes) this.#admitMoreProbes()
      this.#activeProbes++
    }
    return this.#generation
  }

  /**
   * Lets more probes in when the earlier ones take too long, or throws: clients that upload without an end must not
   * shut all others out.
   */
  #admitMoreProbes(): void {
    const at = now()
    if (at < this.#nextAt) throw this.#rejection('breaker-proving', 0)
    this.#maxProbes += this.#config.probes
    this.#nextAt = at + this.#config.openFor
  }

  #release(
    generation: number,
    outcome: AttemptOutcome,
    errorOrStatus: GatewayError | number,
    { attempts }: Exchange,
  ): void {
    if (outcome === 'success') this.#failingSince = null
    if (outcome === 'failure') {
      this.#lastFailure = new FailedAttempt(attempts.last?.endpoint ?? 'the upstream', errorOrStatus, epochMs())
      this.#failingSince ??= this.#lastFailure.at
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
    // A success may open it as well, as the last of minRequests.
    if (requests >= this.#config.minRequests && failures >= this.#config.failureRate * requests)
      this.#transition('open')
  }

  #isOpenExpired(): boolean {
    return this.#state === 'open' && now() >= this.#nextAt
  }

  /** Creates the rejection. RFC 9110 §10.2.3: whole seconds. At least 1, or clients would come back at once. */
  #rejection(reason: ReasonFor<'circuit-open'>, afterMs: number): GatewayError {
    const fields = ['Retry-After', String(Math.max(1, Math.ceil(afterMs / 1000)))]
    return new GatewayError('circuit-open', { reason, fields, cause: this.#lastFailure ?? undefined })
  }

  #transition(state: BreakerState): void {
    if (state === 'open') this.#outageSince ??= this.#failingSince ?? epochMs()
    if (state === 'closed') this.#outageSince = null
    this.#state = state
    this.#since = epochMs()
    this.#generation++
    this.#activeProbes = 0
    this.#succeededProbes = 0
    this.#maxProbes = this.#config.probes
    this.#nextAt = now() + this.#config.openFor
    this.#window.clear()
    this.#onChange(state, this.#lastFailure)
  }
}

/**
 * Classifies a failure for this breaker. `no-healthy-endpoint` is the upstream's fault, but nothing was tried: every
 * endpoint drains or has weight 0. To open on it would protect no endpoint, hide the reason, and reject requests for as
 * long as openFor once one is ready again.
 */
const classifyUpstreamFailure = (error: GatewayError, exchange: Exchange): AttemptOutcome =>
  error.kind === 'no-healthy-endpoint' ? 'nothing' : classifyFailure(error, exchange)
