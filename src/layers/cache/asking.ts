import { wallClock } from '../../clock.ts'
import type { Answer, CacheOutcome, Exchange } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { Fields } from '../../fields.ts'
import { Fetch } from './fetch.ts'
import {
  type Asker,
  type Fetching,
  type Landing,
  type Refreshing,
  type Shared,
  type Sighting,
  statusOf,
  troubleIn,
  troubleOf,
  troubleOfStatus,
  type Wanting,
} from './fetching.ts'
import { Flights } from './flights.ts'
import { type Forwarded, forwardedStatus } from './policy/cache-status.ts'
import type { CacheRequest } from './policy/request.ts'
import { mayServeStale, reuse, type Trouble } from './policy/reuse.ts'
import { select } from './policy/selecting.ts'
import { storedFields } from './policy/serving.ts'
import { answerShared, answerWhole, note } from './serving.ts'
import { noBody, type Stored, StoredBody } from './stored.ts'

// Of one operation. They are no client's requests, so no bound of what is in flight holds them back.
const mostRefreshes = 100

/** What all the fetches of an operation have in common. */
type Deps = Pick<Fetching, 'next' | 'rules' | 'part' | 'notices'>

type LookAgain = (wanting: Wanting) => Promise<Answer>

/** Asks the upstream for what is not stored, or no longer fresh: once for all who want the same at the same time. */
export class Asking {
  readonly #deps: Deps
  readonly #lookAgain: LookAgain
  readonly #flights = new Flights()
  #refreshes = 0

  /** `lookAgain` is for those who waited for what turns out to be another variant: what they want may be there by now. */
  constructor(deps: Deps, lookAgain: LookAgain) {
    this.#deps = deps
    this.#lookAgain = lookAgain
  }

  /** Waits for a fetch that is under way, or begins one, or forwards the request as it came. */
  want(wanting: Wanting): Promise<Answer> {
    const { exchange, request, key, at, stored, varies, why, patience, sighting } = wanting
    const isUncacheable = this.#deps.part.uncacheable.has(key)
    // A Range may be a small piece of something large: nobody is to wait for the whole of it. Where something is stored, a 304 has to be heard (§4.3.4).
    if (request.range !== null || (isUncacheable && stored === null)) return this.#forward(wanting)
    const isForOne = isUncacheable || (stored !== null && isForOneAlone(stored))
    if (patience > 0 && !isForOne && !request.noCache && why !== 'request') {
      const joined = this.#flights.find(key, request, varies, at)
      if (joined !== null) return this.#join(wanting, joined)
    }
    if (this.#flights.isFull(key)) return this.#forward(wanting)
    const fetch = this.#open(exchange, request, key, { stored, sighting, isHeld: false, isForOne })
    const answer = this.#wait(wanting, fetch)
    fetch.start()
    return answer
  }

  /** Tells whether what is served stale is to be fetched anew: that is not under way, and there are not too many such fetches. */
  mayRefresh({ request, key, stored, at }: Refreshing): boolean {
    if (this.#refreshes >= mostRefreshes || this.#deps.part.uncacheable.has(key) || this.#flights.isFull(key))
      return false
    return this.#flights.find(key, request, stored.head.varies, at) === null
  }

  /** Fetches anew what is served stale meanwhile (RFC 5861 §3). */
  refresh(refreshing: Refreshing, sighting: Sighting | null): void {
    if (!this.mayRefresh(refreshing)) return
    const { exchange, request, key, stored } = refreshing
    this.#refreshes++
    this.#open(exchange, request, key, { stored, sighting, isHeld: true, isForOne: false }).start()
  }

  /** Has an exchange wait for a fetch, or read what has begun to come of it. */
  #join(wanting: Wanting, fetch: Fetch): Promise<Answer> {
    return fetch.landing === null
      ? this.#wait(wanting, fetch)
      : Promise.resolve(this.#landed(wanting, fetch, fetch.landing))
  }

  #wait(wanting: Wanting, fetch: Fetch): Promise<Answer> {
    const { exchange, request } = wanting
    return new Promise((resolve, reject) => {
      const asker: Asker = {
        request,
        landed: (landing) => {
          exchange.whenAborted(null)
          try {
            resolve(this.#landed(wanting, fetch, landing))
          } catch (error) {
            if (error instanceof GatewayError) return reject(error)
            this.#deps.notices.broken(error)
            resolve(landing.kind === 'alone' && isFirst(wanting, fetch) ? landing.answer : this.#deps.next(exchange))
          }
        },
      }
      fetch.ask(asker)
      exchange.whenAborted((reason) => {
        fetch.leave(asker)
        reject(reason)
      })
    })
  }

  /** Answers with what has come, as far as it is for this exchange. Throws the failure. */
  #landed(wanting: Wanting, fetch: Fetch, landing: Landing): Answer | Promise<Answer> {
    const { exchange, request } = wanting
    if (isFirst(wanting, fetch)) {
      exchange.attempt = fetch.exchange.attempt
      exchange.attempts += fetch.exchange.attempts
      exchange.failedAttempts ??= fetch.exchange.failedAttempts
    }
    const trouble = troubleIn(landing)
    const stale = trouble === null ? null : this.#standIn(wanting, trouble, statusOf(landing))
    if (stale !== null) {
      if (landing.kind === 'alone' && isFirst(wanting, fetch)) landing.answer.body.discard()
      return stale
    }
    if (isFirst(wanting, fetch)) return this.#own(wanting, fetch, landing)
    if (landing.kind === 'failed') {
      this.#note(wanting, 'miss', { collapsed: true })
      throw landing.error
    }
    // What is not stored, a 304 that forbids it say, is for the one alone who asked.
    if (landing.kind !== 'shared' || !landing.isStored) return this.#forward(wanting)
    const at = wallClock()
    if (select([landing], request) === null) return this.#lookAgain(wanting)
    if (reuse(landing.head, request, at).kind !== 'fresh') return this.#forward(wanting)
    const answer = this.#shared(wanting, landing, storedFields(landing.head, at))
    if (answer === null) return this.#forward(wanting)
    this.#note(wanting, 'collapsed', { collapsed: true, ttlMs: landing.head.freshUntil - at })
    return answer
  }

  /** Answers the exchange that the fetch was begun for: whatever has come is its own. */
  #own(wanting: Wanting, fetch: Fetch, landing: Landing): Answer | Promise<Answer> {
    const { exchange } = wanting
    if (landing.kind === 'none') return this.#forward(wanting)
    if (landing.kind === 'failed') {
      this.#note(wanting, 'miss')
      throw landing.error
    }
    if (landing.kind === 'alone') {
      this.#note(wanting, 'miss', { detail: landing.not })
      exchange.whenAborted((reason) => fetch.exchange.abort(reason))
      return landing.answer
    }
    const { head, fields, isValidated, isStored, not } = landing
    const answer = this.#shared(wanting, landing, fields)
    if (answer === null) return this.#forward(wanting)
    // Nobody may read it any more, and it is stored all the same.
    if (answer.body === noBody) fetch.hold()
    const came = isValidated ? 304 : head.status
    this.#note(wanting, isValidated ? 'revalidated' : 'miss', {
      status: came === answer.status ? null : came,
      stored: isStored,
      ttlMs: head.freshUntil - wallClock(),
      detail: not,
    })
    return answer
  }

  #shared({ exchange, request }: Wanting, landing: Shared, fields: Fields): Answer | null {
    if (landing.body instanceof StoredBody) this.#deps.part.lend(exchange, landing.body)
    return answerShared(exchange, request, landing, fields)
  }

  /** Forwards a request as it came, for itself alone. */
  #forward(wanting: Wanting): Promise<Answer> {
    const { exchange, request, key, stored } = wanting
    const sent = this.#deps.next(exchange)
    const detail = request.range === null ? this.#deps.part.uncacheable.why(key) : 'range'
    if (stored === null) {
      this.#note(wanting, 'miss', { detail })
      return sent
    }
    return sent.then(
      (answer) => {
        const trouble = troubleOfStatus(answer.status)
        const stale = trouble === null ? null : this.#standIn(wanting, trouble, answer.status)
        if (stale !== null) {
          answer.body.discard()
          return stale
        }
        this.#note(wanting, 'miss', { detail })
        return answer
      },
      (error) => {
        const trouble = error instanceof GatewayError ? troubleOf(error) : null
        const stale = trouble === null ? null : this.#standIn(wanting, trouble, null)
        if (stale !== null) return stale
        this.#note(wanting, 'miss')
        throw error
      },
    )
  }

  /** Answers with what is stored, though it is stale, where that is allowed; null: it is not. */
  #standIn(wanting: Wanting, trouble: Trouble, status: number | null): Answer | null {
    const { exchange, request, stored } = wanting
    const at = wallClock()
    if (stored === null || !mayServeStale(stored.head, request, trouble, at)) return null
    const { head, body } = stored
    const answer = answerWhole(head, body, request, storedFields(head, at))
    this.#deps.part.lend(exchange, body)
    this.#note(wanting, 'stale', { status, ttlMs: head.freshUntil - at })
    return answer
  }

  #note({ exchange, why }: Wanting, outcome: CacheOutcome, forwarded: Omit<Forwarded, 'why'> = {}): void {
    note(exchange, this.#deps.part, outcome, forwardedStatus({ why, ...forwarded }))
  }

  #open(exchange: Exchange, request: CacheRequest, key: string, manner: Manner): Fetch {
    const over = (): void => {
      this.#flights.remove(key, fetch)
      if (manner.isHeld) this.#refreshes--
    }
    const fetch: Fetch = new Fetch(exchange, request, { ...this.#deps, key, ...manner, over })
    this.#flights.add(key, fetch)
    return fetch
  }
}

/** Says how a fetch is made. */
type Manner = Pick<Fetching, 'stored' | 'sighting' | 'isHeld' | 'isForOne'>

const isFirst = ({ request }: Wanting, fetch: Fetch): boolean => request === fetch.request

/** Tells whether each who asks has to ask the upstream: to wait for another's answer would be to wait in vain. */
export const isForOneAlone = ({ head }: Stored): boolean => head.noCache || head.freshUntil <= head.receivedAt
