import { Alarm, wallClock } from '../../clock.ts'
import { type Answer, Exchange } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { Asker, Fetching, Landing, Shared } from './fetching.ts'
import type { AnswerTimes } from './policy/freshness.ts'
import { type CacheRequest, unconditional } from './policy/request.ts'
import { conditionFields } from './policy/validating.ts'
import { hasValidator } from './policy/validators.ts'
import { Recording } from './recording.ts'
import { nameOf } from './serving.ts'
import type { Reservation } from './store.ts'
import type { Stored } from './stored.ts'
import { take, takeNotModified } from './taking.ts'

// So long a body may still come that nobody reads, but that is stored when it has come.
const unreadMs = 30_000

/**
 * Is a request of the gateway's own for what one exchange asked for, or several. It lives as long as anybody waits for it or reads it, and no
 * single client's leaving ends it. It asks for the whole, without the conditions of the client: those are for what is stored then.
 */
export class Fetch {
  /** What the exchange that began it asks for, and so what is fetched. */
  readonly request: CacheRequest
  readonly exchange: Exchange
  /** On the wall clock. */
  readonly begunAt = wallClock()
  /** What has come, as long as it can be read from its beginning; null: nothing yet. */
  landing: Shared | null = null
  /** When it was sent, and when the head of the answer came. */
  times: AnswerTimes = { requestedAt: 0, receivedAt: 0 }
  readonly fetching: Fetching
  /**
   * Room for what comes. Void when what it is for became invalid after it began: who asks from now on must not get it
   * (RFC 9111 §4.4).
   */
  readonly reservation: Reservation
  readonly #askers = new Set<Asker>()
  readonly #unread = new Alarm(() => {
    if (!this.#isRead) this.#abandon()
  })
  /** Whether it goes on though nobody waits for it. */
  #isHeld: boolean
  #isOver = false
  #validates: Stored | null

  constructor(cause: Exchange, request: CacheRequest, fetching: Fetching) {
    const { stored, part, isHeld } = fetching
    this.request = request
    this.fetching = fetching
    this.#isHeld = isHeld
    this.#validates = stored !== null && hasValidator(stored.head) ? stored : null
    this.reservation = part.reserve(nameOf(cause, request))
    this.exchange = ownExchange(cause, isHeld)
  }

  /** Has somebody wait for it. */
  ask(asker: Asker): void {
    this.#askers.add(asker)
  }

  /** Is told that somebody no longer waits. */
  leave(asker: Asker): void {
    this.#askers.delete(asker)
    if (this.#askers.size === 0 && !this.#isHeld) this.#abandon()
  }

  /** Has the body come to its end though nobody reads it: it is of use for others, later. */
  hold(): void {
    this.#isHeld = true
  }

  /** Sends it. */
  start(): void {
    const { stored } = this.fetching
    const plain = unconditional(this.exchange.fields)
    this.exchange.fields =
      this.#validates !== null && stored !== null ? [...plain, ...conditionFields(stored.head)] : plain
    this.#send()
  }

  #send(): void {
    const requestedAt = wallClock()
    this.fetching.next(this.exchange).then(
      (answer) => {
        this.times = { requestedAt, receivedAt: wallClock() }
        this.#received(answer)
      },
      (error) => {
        this.finish()
        this.#land({ kind: 'failed', error: GatewayError.from(error) })
      },
    )
  }

  #received(answer: Answer): void {
    const landing = this.#landingOf(answer)
    if (landing === null) {
      this.#validates = null
      this.exchange.fields = unconditional(this.exchange.fields)
      return this.#send()
    }
    const recording = landing.kind === 'shared' && landing.body instanceof Recording ? landing.body : null
    if (recording === null) this.finish()
    else if (landing.kind === 'shared') this.landing = landing
    this.#land(landing)
    recording?.start()
    this.deserted()
  }

  /** Makes of an answer what those who wait may use; null: it is a 304 about something else. */
  #landingOf(answer: Answer): Landing | null {
    const validated = answer.status === 304 ? this.#validates : null
    try {
      if (validated === null) return take(this, answer)
      const landing = takeNotModified(this, answer, validated)
      answer.body.discard()
      return landing
    } catch (error) {
      this.fetching.notices.broken(error)
      if (validated === null) return { kind: 'alone', answer, not: null }
      answer.body.discard()
      return { kind: 'none' }
    }
  }

  /** Tells everybody what has come. */
  #land(landing: Landing): void {
    const askers = [...this.#askers]
    this.#askers.clear()
    if (landing.kind === 'alone' && askers.every(({ request }) => request !== this.request))
      landing.answer.body.discard()
    for (const asker of askers) asker.landed(landing)
    if (landing.kind === 'failed' && this.#isHeld) this.fetching.notices.unrefreshed(landing.error)
  }

  get #isRead(): boolean {
    const body = this.landing?.body
    return body instanceof Recording && body.isRead
  }

  /** Is told that the body is longer than may be stored: now it is for those who read it, and for nobody else. */
  lost(): void {
    this.finish()
    this.#isHeld = false
    this.deserted()
  }

  /** Looks whether anybody still reads the body. */
  deserted(): void {
    const body = this.landing?.body
    if (!(body instanceof Recording) || body.ended || body.isRead) return
    if (this.#isHeld) this.#unread.set(unreadMs)
    else this.#abandon()
  }

  #abandon(): void {
    this.finish() // before anybody can join what is about to fail
    this.exchange.abort(
      new GatewayError('client-gone', { reason: 'nobody-waits', cause: new Error('nobody waits for it') }),
    )
  }

  /** Ends what others could join. */
  finish(): void {
    this.#unread.clear()
    this.reservation.release()
    if (this.#isOver) return
    this.#isOver = true
    this.fetching.over()
  }
}

/**
 * Makes an exchange of the gateway's own out of the one that causes it: it asks for the same, and the client's leaving does not end it. Interim
 * answers go to that client as long as it waits (RFC 9110 §15.2), unless the fetch is behind its back.
 */
const ownExchange = (cause: Exchange, isUnasked: boolean): Exchange => {
  const { operation, client, sender, query, fields, authority, body, onInterim } = cause
  const relayed =
    isUnasked || onInterim === null
      ? null
      : (status: number, interim: Exchange['fields']): void => {
          if (cause.aborted === null) onInterim(status, interim)
        }
  const own = new Exchange({ operation, client, sender, query, fields, authority, body, onInterim: relayed })
  own.identity = cause.identity
  own.trace = cause.trace
  return own
}
