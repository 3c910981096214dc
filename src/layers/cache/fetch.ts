import { Alarm, wallClock } from '../../clock.ts'
import { GatewayError } from '../../errors.ts'
import type { Answer, Exchange } from '../../exchange.ts'
import type { Asker, Fetching } from './fetching.ts'
import type { Landing, Shared } from './landing.ts'
import { ownExchange } from './own-exchange.ts'
import { type CacheRequest, unconditional } from './policy/request.ts'
import { mayServeStale } from './policy/reuse.ts'
import { select } from './policy/selecting.ts'
import { type StoredHead, withLength } from './policy/stored.ts'
import { type AnswerTimes, storable } from './policy/storing.ts'
import { conditionFields, hasValidator, refreshed } from './policy/validating.ts'
import { declaredLength, Recording, type RecordingEnd } from './recording.ts'
import type { Reservation } from './reservation.ts'
import { ownCopy, type Stored, StoredBody } from './stored.ts'
import { troubleOfStatus } from './trouble.ts'
import { isLikelyAgain } from './uncacheable.ts'

// So long a body may still come that nobody reads, but that is stored when it has come.
const unreadMs = 30_000

/**
 * Is a request of the gateway's own for what one exchange asked for, or several. It lives as long as anybody waits for it or reads it, and no
 * single client's leaving ends it. It asks for the whole, without the conditions of the client: those are for what is stored then.
 */
export class Fetch {
  /** What the exchange that began it asks for, and so what is fetched. */
  readonly request: CacheRequest
  /** Whether nobody else may wait for it. */
  readonly isForOne: boolean
  readonly exchange: Exchange
  /** What has come, as long as it can be read from its beginning; null: nothing yet. */
  landing: Shared | null = null
  readonly #fetching: Fetching
  readonly #reservation: Reservation
  readonly #askers = new Set<Asker>()
  readonly #unread = new Alarm(() => {
    if (!this.#isRead) this.#abandon()
  })
  /** Whether it goes on though nobody waits for it. */
  #isHeld: boolean
  #isOver = false
  #times: AnswerTimes = { requestedAt: 0, receivedAt: 0 }
  #validates: Stored | null

  constructor(cause: Exchange, request: CacheRequest, fetching: Fetching) {
    const { stored, part, isHeld, isForOne } = fetching
    this.request = request
    this.isForOne = isForOne
    this.#fetching = fetching
    this.#isHeld = isHeld
    this.#validates = stored !== null && hasValidator(stored.head) ? stored : null
    this.#reservation = part.reserve(cause.identity?.client ?? '', cause.query)
    this.exchange = ownExchange(cause, isHeld)
  }

  /** Whether what it is for became invalid after it began: who asks from now on must not get it (RFC 9111 §4.4). */
  get isVoid(): boolean {
    return this.#reservation.isVoid
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
    const { stored } = this.#fetching
    const plain = unconditional(this.exchange.fields)
    this.exchange.fields =
      this.#validates !== null && stored !== null ? [...plain, ...conditionFields(stored.head)] : plain
    this.#send()
  }

  #send(): void {
    const requestedAt = wallClock()
    this.#fetching.next(this.exchange).then(
      (answer) => {
        this.#times = { requestedAt, receivedAt: wallClock() }
        this.#received(answer)
      },
      (error) => this.#land({ kind: 'failed', error: GatewayError.from(error) }),
    )
  }

  #received(answer: Answer): void {
    try {
      if (answer.status === 304 && this.#validates !== null) this.#notModified(answer, this.#validates)
      else this.#take(answer)
    } catch (error) {
      this.#fetching.notices.broken(error)
      if (this.landing !== null) return // it has been told to all by then
      if (answer.status !== 304 || this.#validates === null) return this.#alone(answer)
      answer.body.discard()
      this.#land({ kind: 'none' })
    }
  }

  /** RFC 9111 §4.3.4 */
  #notModified(answer: Answer, validated: Stored): void {
    const { rules, part, key } = this.#fetching
    const update = refreshed(validated.head, this.request, answer, this.#times, rules)
    answer.body.discard()
    if (update.kind === 'other') {
      this.#validates = null
      this.exchange.fields = unconditional(this.exchange.fields)
      return this.#send()
    }
    const { body } = validated
    const head = update.kind === 'updated' ? update.stored.head : null
    if (head !== null) this.#store({ head, body }, validated)
    else if (update.kind === 'updated') part.remove(key, validated)
    this.#land({
      kind: 'shared',
      head: head ?? validated.head,
      fields: update.fields,
      body,
      bodyBytes: body.bytes.length,
      isValidated: true,
      isStored: head !== null,
    })
  }

  #take(answer: Answer): void {
    const { rules, stored } = this.#fetching
    const isTrouble = troubleOfStatus(answer.status) !== null
    const { receivedAt } = this.#times
    // Stored, it would take the place of what is better than it.
    if (isTrouble && stored !== null && mayServeStale(stored.head, this.request, 'error', receivedAt))
      return this.#alone(answer)
    const verdict = storable(this.request, answer, this.#times, rules)
    if (verdict.head === null) {
      this.#notStorable(answer, isLikelyAgain(verdict.not))
      return this.#alone(answer)
    }
    const { head } = verdict
    const whole = answer.body.whole()
    if (whole !== null) return this.#takeWhole(answer, head, whole)
    const declared = declaredLength(answer)
    const most = rules.maxEntryBytes - head.bytes
    if (declared === undefined || (declared ?? 0) > most) {
      this.#notStorable(answer, true)
      return this.#alone(answer)
    }
    if (!this.#reservation.grow((declared ?? 0) + head.bytes)) return this.#alone(answer)
    const recording = new Recording(answer.body, declared, most, this.#reservation, this.#endOf(head))
    this.landing = {
      kind: 'shared',
      head,
      fields: answer.fields,
      body: recording,
      bodyBytes: declared,
      isValidated: false,
      isStored: true,
    }
    this.#land(this.landing)
    recording.start()
    if (!recording.isRead) this.#deserted()
  }

  /** Forgets what was stored: it is not what the upstream says any more. Of trouble nothing is learnt about it. */
  #notStorable({ status }: Pick<Answer, 'status'>, isLasting: boolean): void {
    const { part, key, stored } = this.#fetching
    if (troubleOfStatus(status) !== null) return
    if (stored !== null) part.remove(key, stored)
    if (isLasting) part.uncacheable.note(key)
  }

  #takeWhole(answer: Answer, head: StoredHead, whole: Buffer): void {
    const { rules, stored, notices } = this.#fetching
    const body = new StoredBody(ownCopy(whole))
    let complete: StoredHead | null = null
    try {
      complete = withLength(head, whole.length)
      if (complete !== null && complete.bytes + whole.length > rules.maxEntryBytes) complete = null
      if (complete !== null) this.#store({ head: complete, body }, stored)
    } catch (error) {
      notices.broken(error)
      complete = null
    }
    if (complete === null) return this.#alone({ ...answer, body }) // the answer's own has been taken
    const bodyBytes = whole.length
    const { fields } = answer
    this.#land({ kind: 'shared', head: complete, fields, body, bodyBytes, isValidated: false, isStored: true })
  }

  #endOf(head: StoredHead): RecordingEnd {
    const { stored, notices } = this.#fetching
    return {
      complete: (bytes) => {
        try {
          const complete = withLength(head, bytes.length)
          if (complete !== null) this.#store({ head: complete, body: new StoredBody(bytes) }, stored)
        } catch (error) {
          notices.broken(error)
        }
        this.#finish()
      },
      lost: () => {
        this.#notStorable(head, true)
        this.#finish()
      },
      failed: () => this.#finish(),
      deserted: () => this.#deserted(),
    }
  }

  #store(stored: Stored, before: Stored | null): void {
    const { request } = this
    this.#fetching.part.put(this.#reservation, stored, (each) => each === before || select([each], request) !== null)
  }

  #alone(answer: Answer): void {
    this.#land({ kind: 'alone', answer })
  }

  /** Tells everybody what has come. */
  #land(landing: Landing): void {
    const isRecording = this.landing !== null
    if (!isRecording) this.#finish()
    const askers = [...this.#askers]
    this.#askers.clear()
    if (landing.kind === 'alone' && askers.every(({ request }) => request !== this.request))
      landing.answer.body.discard()
    for (const asker of askers) asker.landed(landing)
    if (landing.kind === 'failed' && this.#isHeld) this.#fetching.notices.unrefreshed(landing.error)
  }

  get #isRead(): boolean {
    const body = this.landing?.body
    return body instanceof Recording && body.isRead
  }

  #deserted(): void {
    const body = this.landing?.body
    if (!(body instanceof Recording) || body.ended) return
    if (this.#isHeld) this.#unread.set(unreadMs)
    else this.#abandon()
  }

  #abandon(): void {
    this.#finish() // before anybody can join what is about to fail
    this.exchange.abort(new GatewayError('client-gone', { cause: new Error('nobody waits for it') }))
  }

  /** Ends what others could join. */
  #finish(): void {
    this.#unread.clear()
    this.#reservation.release()
    if (this.#isOver) return
    this.#isOver = true
    this.#fetching.over()
  }
}
