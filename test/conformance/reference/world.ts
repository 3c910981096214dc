import type { Handler } from '../../../src/exchange.ts'
import { GatewayError } from '../../../src/failures/errors.ts'
import { getFirstFieldValue } from '../../../src/header-fields.ts'
import { arrived, cut } from '../benches/bodies.ts'
import { httpDate } from '../dates.ts'
import { belongsTo, confirms, type Past, type Request, type Response, type Rules } from './model.ts'

/** Is what the upstream will say, whoever asks. */
export interface Say {
  readonly status: number
  readonly fields: Readonly<Record<string, string>>
  readonly trouble: 'refused' | 'reset' | 'truncated' | null
  readonly takes: number
}

/** Is one answer of the upstream, and to whose request. */
export interface Call {
  readonly request: Request
  readonly response: Response | null
}

/** Is everything that lies behind the cache: the upstream, the time, and the memory of the model. */
export class World {
  readonly #clock: { now(): number; set(ms: number): void }
  readonly #rules: Rules
  readonly #requests = new Map<number, Request>()
  readonly pasts: Past[] = []
  /** What the upstream was asked since the last time that this was emptied. */
  calls: Call[] = []
  says: Say = { status: 200, fields: {}, trouble: null, takes: 0 }
  /** Whether several ask at the same time: then none of them makes the others older. */
  isCrowded = false
  #answers = 0

  constructor(clock: { now(): number; set(ms: number): void }, rules: Rules) {
    this.#clock = clock
    this.#rules = rules
  }

  get now(): number {
    return this.#clock.now() / 1000
  }

  wait(seconds: number): void {
    this.#clock.set(this.#clock.now() + seconds * 1000)
  }

  expect(request: Request): void {
    this.#requests.set(request.id, request)
  }

  /** Makes all that came for a URI invalid. */
  invalidate(uri: string): void {
    for (const past of this.pasts) if (past.original.uri === uri) past.isGone = true
  }

  /** Is the innermost handle. Whose request it is, a field of it says, that it was sent with. */
  readonly send: Handler = async (exchange) => {
    const request = this.#requests.get(Number(getFirstFieldValue(exchange.fields, 'x-request')))
    if (request === undefined) throw new Error('nobody has asked for this')
    const { status, fields, trouble, takes } = this.says
    const requestedAt = this.now
    await Promise.resolve()
    if (trouble === 'refused' || trouble === 'reset') {
      this.calls.push({ request, response: null })
      throw new GatewayError(trouble === 'refused' ? 'connect-failed' : 'reset-before-headers')
    }
    if (!this.isCrowded) this.wait(takes)
    const receivedAt = this.now
    const id = ++this.#answers
    const own: Response['fields'] = { date: httpDate(receivedAt * 1000), ...fields }
    const isCurrent = own.etag !== undefined && getFirstFieldValue(exchange.fields, 'if-none-match') === own.etag
    const response = { id, status: isCurrent ? 304 : status, fields: own, requestedAt, receivedAt }
    this.calls.push({ request, response })
    const body = {
      reason: '',
      status: response.status,
      fields: flat(isCurrent ? own : { ...own, 'x-answer': String(id) }),
    }
    const isCut = trouble === 'truncated' && !isCurrent
    this.#remember(request, response, isCut)
    if (isCut) return { ...body, body: cut() }
    return { ...body, body: arrived(Buffer.from(isCurrent ? '' : `answer ${id}`)) }
  }

  #remember(request: Request, { id, status, fields, requestedAt, receivedAt }: Response, isCut: boolean): void {
    const came = { fields, requestedAt, receivedAt }
    if (status !== 304) {
      this.pasts.push({
        original: request,
        body: id,
        status,
        first: fields,
        current: came,
        selectedBy: request,
        isCut,
        isGone: false,
      })
      return
    }
    const meant = this.pasts.filter(
      (past) => !past.isGone && !past.isCut && confirms(past, request, fields, this.#rules),
    )
    const chosen = meant.filter((past) => belongsTo(past, request))
    for (const past of meant) {
      // Age is not kept of what was before: it says how long ago the upstream was last asked (§5.1).
      const { age: _, ...kept } = past.current.fields
      const current = { ...came, fields: { ...kept, ...fields } }
      const isChosen = chosen.includes(past)
      // It is an answer to this request from now on. A cache may ask even of what it could not have chosen (§4.3.1): whether this one did, nobody
      // knows, so what it was before is kept beside it.
      const isSaid = this.pasts.some((other) => other.body === past.body && other.selectedBy === request)
      if (!isSaid && (isChosen || !chosen.some(({ body }) => body === past.body)))
        this.pasts.push({ ...past, current, selectedBy: request })
      if (isChosen) past.current = current
    }
  }
}

const flat = (fields: Readonly<Record<string, string>>): string[] => Object.entries(fields).flat()
