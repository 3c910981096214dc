import { now, wallClock } from '../clock.ts'
import type { CircuitBreakerConfig } from '../config/config.ts'
import type { Exchange, Handle, Layer } from '../exchange.ts'
import { FailedAttempt, GatewayError } from '../failures/errors.ts'
import type { ReasonOf } from '../failures/reasons.ts'
import { type Outcome, outcomeOf, outcomeOfFailure } from './outcome.ts'
import { Window } from './window.ts'

/** Is how a breaker stands: everything passes, nothing does, or a few that find out. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** Is called after every change of state, with the last request that the upstream failed; null: none has. */
type OnChange = (state: BreakerState, lastFailure: FailedAttempt | null) => void

/**
 * Leaves a whole upstream alone while it fails.
 *
 *     closed ── failures ≥ failureRate of ≥ minRequests within the window ──▶ open
 *     open ── openFor is over ──▶ half-open
 *     half-open ── `probes` went well ──▶ closed, with an empty window
 *     half-open ── one failed ──▶ open
 *     half-open ── openFor over without a verdict ──▶ as many probes more
 *
 * It has no timer: that openFor is over is seen by the next request, which is when `onChange` hears of it, and by whoever asks.
 */
export class CircuitBreaker {
  readonly #config: CircuitBreakerConfig
  readonly #onChange: OnChange
  readonly #window: Window
  #state: BreakerState = 'closed'
  #since = wallClock()
  #lastFailure: FailedAttempt | null = null
  /** When the first request failed since the last that went well, in ms since the epoch; null: none has. */
  #failingSince: number | null = null
  #outageSince: number | null = null
  /** Counts the states that there were: what began in an earlier one tells nothing of this one. */
  #era = 0
  /** Probes on their way, and those that went well. */
  #probing = 0
  #proven = 0
  /** How many there may be of both. */
  #room = 0
  /** When an open one is half-open, and a half-open one lets more probes in, on the monotonic clock. */
  #nextAt = 0

  /** `onChange` is told of every change of state, after it. */
  constructor(config: CircuitBreakerConfig, onChange: OnChange) {
    this.#config = config
    this.#onChange = onChange
    this.#window = new Window(config.window)
  }

  get state(): BreakerState {
    return this.#isOver() ? 'half-open' : this.#state
  }

  /** When the state began, in ms since the epoch. */
  get since(): number {
    return this.#isOver() ? this.#since + this.#config.openFor : this.#since
  }

  /** The last request that the upstream failed: why it is open, while it is. Null: none has failed. */
  get lastFailure(): FailedAttempt | null {
    return this.#lastFailure
  }

  /** When what opened it began, in ms since the epoch: it lasts until it is closed. Null: it is closed. */
  get outageSince(): number | null {
    return this.#outageSince
  }

  /**
   * Wraps the send of the upstream. Rejects with `circuit-open` and Retry-After before anything of the exchange is touched, its body
   * included. It judges by the head of the answer: a body that is cut short comes too late for it.
   */
  readonly layer: Layer = (next: Handle) => {
    const circuitBreaker = async (exchange: Exchange) => {
      const era = this.#enter()
      try {
        const answer = await next(exchange)
        this.#leave(era, outcomeOf(answer.status), answer.status, exchange)
        return answer
      } catch (thrown) {
        const error = GatewayError.from(thrown)
        this.#leave(era, outcomeOfUpstream(error, exchange), error, exchange)
        throw thrown
      }
    }
    return circuitBreaker
  }

  /** Lets a request in, or throws. Tells the era that it belongs to. */
  #enter(): number {
    if (this.#isOver()) this.#turn('half-open')
    if (this.#state === 'open') throw this.#refusal('breaker-open', this.#nextAt - now())
    if (this.#state === 'half-open') {
      if (this.#probing + this.#proven >= this.#room) this.#makeRoom()
      this.#probing++
    }
    return this.#era
  }

  /** Lets more probes in when those before them take too long, or throws: clients that upload without an end must not shut all others out. */
  #makeRoom(): void {
    const at = now()
    if (at < this.#nextAt) throw this.#refusal('breaker-proving', 0)
    this.#room += this.#config.probes
    this.#nextAt = at + this.#config.openFor
  }

  #leave(era: number, outcome: Outcome, why: GatewayError | number, { attempt }: Exchange): void {
    if (outcome === 'success') this.#failingSince = null
    if (outcome === 'failure') {
      this.#lastFailure = new FailedAttempt(attempt?.endpoint ?? 'the upstream', why, wallClock())
      this.#failingSince ??= this.#lastFailure.at
    }
    if (era !== this.#era) return
    if (this.#state === 'half-open') this.#prove(outcome)
    else if (outcome !== 'nothing') this.#count(outcome === 'failure')
  }

  #prove(outcome: Outcome): void {
    this.#probing--
    if (outcome === 'failure') return this.#turn('open')
    if (outcome === 'success' && ++this.#proven >= this.#config.probes) this.#turn('closed')
  }

  #count(failed: boolean): void {
    const at = now()
    this.#window.count(failed, at)
    const requests = this.#window.requests(at)
    const failures = this.#window.failures(at)
    // A success may open it as well, by being the last of minRequests.
    if (requests >= this.#config.minRequests && failures >= this.#config.failureRate * requests) this.#turn('open')
  }

  #isOver(): boolean {
    return this.#state === 'open' && now() >= this.#nextAt
  }

  /** RFC 9110 §10.2.3: whole seconds. At least 1, or clients would come back at once. */
  #refusal(reason: ReasonOf<'circuit-open'>, afterMs: number): GatewayError {
    const fields = ['Retry-After', String(Math.max(1, Math.ceil(afterMs / 1000)))]
    return new GatewayError('circuit-open', { reason, fields, cause: this.#lastFailure ?? undefined })
  }

  #turn(state: BreakerState): void {
    if (state === 'open') this.#outageSince ??= this.#failingSince ?? wallClock()
    if (state === 'closed') this.#outageSince = null
    this.#state = state
    this.#since = wallClock()
    this.#era++
    this.#probing = 0
    this.#proven = 0
    this.#room = this.#config.probes
    this.#nextAt = now() + this.#config.openFor
    this.#window.clear()
    this.#onChange(state, this.#lastFailure)
  }
}

/**
 * Judges a failure as this breaker sees it. `no-healthy-endpoint` is the upstream's fault, but nothing was tried: every endpoint drains
 * or has weight 0. To open on it would shield nobody, hide the reason, and refuse for as long as openFor once one is ready again.
 */
const outcomeOfUpstream = (error: GatewayError, exchange: Exchange): Outcome =>
  error.kind === 'no-healthy-endpoint' ? 'nothing' : outcomeOfFailure(error, exchange)
