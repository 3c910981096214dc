import type { Operation } from '../../src/operations.ts'
import type { Ledger } from '../lab/ledger.ts'
import type { Disturbances } from './disturbances.ts'

/** A request and what became of it. */
export interface RequestOutcome {
  readonly id: string
  readonly operation: Operation
  /** As the laboratory says it: `200`, `502 connect-failed`, `cut`, `damaged`. */
  readonly said: string
  readonly sentAt: number
}

// Enough to see what went wrong; the count says how often.
const maxShown = 20

/**
 * Keeps account of every request that should go well: each gets the response of its endpoint, or a disturbance
 * explains why not.
 */
export class Account {
  readonly #ledger: Ledger
  readonly #disturbances: Disturbances
  requests = 0
  /** Requests that did not go well, by what explains it and what was said. */
  readonly explained = new Map<string, number>()
  unexplained = 0
  readonly shown: string[] = []

  constructor(ledger: Ledger, disturbances: Disturbances) {
    this.#ledger = ledger
    this.#disturbances = disturbances
  }

  enter(heard: RequestOutcome): void {
    const { id, operation, said, sentAt } = heard
    const { method, group } = operation
    const seen = this.#ledger.entriesOf(id)
    this.#ledger.forget(id)
    this.requests++
    if (method === 'POST' && seen.length > 1) return this.#wrong(heard, 'seen more than once')
    if (said === '200') return
    const whys = this.#disturbances.explain({ group, said, sentAt, at: performance.now() })
    // A request that only reached a sound endpoint has nothing to do with what is wrong with another.
    const soundOnly = seen.length > 0 && seen.every(({ endpoint }) => endpoint.startsWith('sound'))
    const why = soundOnly ? whys.find((each) => !each.startsWith('an endpoint')) : whys[0]
    if (why === undefined)
      return this.#wrong(heard, `seen by [${seen.map(({ endpoint }) => endpoint)}], and nothing explains it`)
    const key = `${why}: ${said}`
    this.explained.set(key, (this.explained.get(key) ?? 0) + 1)
  }

  #wrong({ id, operation, said, sentAt }: RequestOutcome, why: string): void {
    this.unexplained++
    const ms = Math.round(performance.now() - sentAt)
    const sent = (sentAt / 1000).toFixed(1)
    if (this.shown.length < maxShown)
      this.shown.push(`${operation.id} ${id}, sent at ${sent} s: after ${ms} ms ${said}, ${why}`)
  }
}
