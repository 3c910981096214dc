import { getFirstFieldValue } from '../../../../src/core/exchange/header-fields.ts'
import type { Reply, Trouble } from './script.ts'

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const two = (value: number): string => String(value).padStart(2, '0')

/** Writes a time in milliseconds since the epoch, as an origin of today does, or an old one. */
export const httpDate = (ms: number, form: 'imf' | '850' | 'asctime' = 'imf'): string => {
  const date = new Date(ms)
  const day = days[date.getUTCDay()] ?? ''
  const month = months[date.getUTCMonth()] ?? ''
  const ofMonth = date.getUTCDate()
  const year = date.getUTCFullYear()
  const time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':')
  if (form === '850') return `${day}, ${two(ofMonth)}-${month}-${two(year % 100)} ${time} GMT`
  if (form === 'asctime') return `${day.slice(0, 3)} ${month} ${String(ofMonth).padStart(2, ' ')} ${time} ${year}`
  return `${day.slice(0, 3)}, ${two(ofMonth)} ${month} ${year} ${time} GMT`
}

/** The values of a script's placeholders at a moment of its row. */
interface Moment {
  /** Milliseconds since the epoch. */
  readonly t0: number
  readonly now: number
  /** The row's own query, without its `?`. */
  readonly query: string
}

const word = /@(t0|now)([+-]\d+)?(?::(850|asctime))?|@row/g

/** Replaces the placeholders of a text by dates and the row's query. */
export const spell = (text: string, { t0, now, query }: Moment): string =>
  text.replace(word, (_, from: string | undefined, offset: string | undefined, form: '850' | 'asctime' | undefined) =>
    from === undefined ? query : httpDate((from === 't0' ? t0 : now) + Number(offset ?? 0) * 1000, form),
  )

/** Spells a whole list of fields. */
export const spellFields = (fields: readonly string[], moment: Moment): string[] =>
  fields.map((text, i) => (i % 2 === 0 ? text : spell(text, moment)))

/** The clock of a row, in milliseconds since the epoch. */
export interface Clock {
  now(): number
  set(ms: number): void
}

/** A response as it leaves the upstream. */
export interface OriginResponse {
  readonly status: number
  readonly fields: readonly string[]
  readonly body: string
}

/** The upstream of one row: it responds as the script says, and records its requests. */
export class Origin {
  readonly #clock: Clock
  readonly #moment: Omit<Moment, 'now'>
  #reply: Reply | Trouble = {}
  /** The fields of all requests that arrived, in order. */
  readonly requests: (readonly string[])[] = []
  /** The body of each response. */
  readonly bodies: string[] = []

  constructor(clock: Clock, moment: Omit<Moment, 'now'>) {
    this.#clock = clock
    this.#moment = moment
  }

  /** Sets how it responds from now on. */
  setReply(reply: Reply | Trouble): void {
    this.#reply = reply
  }

  /** Whether it refuses connections. */
  get isDown(): boolean {
    return this.#reply === 'refused'
  }

  /** Takes a request and responds to it, or fails. */
  receive(fields: readonly string[]): OriginResponse | Exclude<Trouble, 'refused'> {
    const reply = this.#reply
    if (reply === 'refused') throw new Error('the connection is refused')
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
    return { status, fields: sent, body }
  }
}

const bodiless = (status: number): boolean => status === 204 || status === 304

/** Tells whether a client already has the response, to the letter: this origin has one representation. */
const isCurrent = (request: readonly string[], response: readonly string[]): boolean => {
  const known = getFirstFieldValue(request, 'if-none-match')
  const etag = getFirstFieldValue(response, 'etag')
  if (known !== undefined) return etag !== undefined && known.split(/\s*,\s*/).includes(etag)
  const since = getFirstFieldValue(request, 'if-modified-since')
  return since !== undefined && since === getFirstFieldValue(response, 'last-modified')
}
