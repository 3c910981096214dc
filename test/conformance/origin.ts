import { getFirstFieldValue } from '../../src/header-fields.ts'
import { httpDate, type Moment, spellFields } from './dates.ts'
import type { Reply, Trouble } from './row.ts'

/** Is the time that a row is played in, milliseconds since the epoch. */
export interface Clock {
  now(): number
  set(ms: number): void
}

/** Is an answer as it leaves the upstream. */
export interface Given {
  readonly status: number
  readonly fields: readonly string[]
  readonly body: string
  readonly trailers: readonly string[]
}

/** Is the upstream of one row: it answers as the script says, and remembers what it was asked. */
export class Origin {
  readonly #clock: Clock
  readonly #moment: Omit<Moment, 'now'>
  #reply: Reply | Trouble = {}
  /** The fields of all requests that arrived, in order. */
  readonly requests: (readonly string[])[] = []
  /** The body of each answer. */
  readonly bodies: string[] = []

  constructor(clock: Clock, moment: Omit<Moment, 'now'>) {
    this.#clock = clock
    this.#moment = moment
  }

  /** Sets what it answers from now on. */
  says(reply: Reply | Trouble): void {
    this.#reply = reply
  }

  /** Whether nobody listens. */
  get gone(): boolean {
    return this.#reply === 'refused'
  }

  /** Takes a request and answers it, or does not. */
  receive(fields: readonly string[]): Given | Exclude<Trouble, 'refused'> {
    const reply = this.#reply
    if (reply === 'refused') throw new Error('nobody listens here')
    this.requests.push(fields)
    if (typeof reply === 'string') {
      this.bodies.push('')
      return reply
    }
    if (reply.takes !== undefined) this.#clock.set(this.#clock.now() + reply.takes * 1000)
    const now = this.#clock.now()
    const written = spellFields(reply.fields ?? [], { ...this.#moment, now })
    const dated = reply.date === false || getFirstFieldValue(written, 'date') !== undefined
    const sent = dated ? written : ['Date', httpDate(now), ...written]
    const status = reply.validates && isCurrent(fields, sent) ? 304 : (reply.status ?? 200)
    const body = bodiless(status) ? '' : (reply.body ?? `answer ${this.requests.length}`)
    this.bodies.push(body)
    return { status, fields: sent, body, trailers: reply.trailers ?? [] }
  }
}

const bodiless = (status: number): boolean => status === 204 || status === 304

/** Tells whether a client asks for what it already has, to the letter: this origin has one representation. */
const isCurrent = (request: readonly string[], answer: readonly string[]): boolean => {
  const known = getFirstFieldValue(request, 'if-none-match')
  const etag = getFirstFieldValue(answer, 'etag')
  if (known !== undefined) return etag !== undefined && known.split(/\s*,\s*/).includes(etag)
  const since = getFirstFieldValue(request, 'if-modified-since')
  return since !== undefined && since === getFirstFieldValue(answer, 'last-modified')
}
