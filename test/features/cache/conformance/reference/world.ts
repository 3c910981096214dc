import { vi } from 'vitest'
import type { Handler } from '../../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../../src/core/exchange/failures/errors.ts'
import { getFirstFieldValue } from '../../../../../src/core/exchange/header-fields.ts'
import { completeBody, truncatedBody } from '../layer.ts'
import { httpDate } from '../origin.ts'
import {
  belongsTo,
  confirms,
  isOnlyForItsCredentials,
  type Past,
  type Request,
  type Response,
  type Rules,
} from './model.ts'

/** How the upstream will respond to any request. */
export interface Say {
  readonly status: number
  readonly fields: Readonly<Record<string, string>>
  readonly trouble: 'refused' | 'reset' | 'truncated' | null
  readonly takes: number
}

/** One request to the upstream, and its response. */
export interface Call {
  readonly request: Request
  readonly response: Response | null
}

/** Everything behind the cache: the upstream, the time, and the memory of the model. */
export class World {
  readonly #rules: Rules
  readonly #requests = new Map<number, Request>()
  readonly pasts: Past[] = []
  /** The requests to the upstream since this was last emptied. */
  calls: Call[] = []
  says: Say = { status: 200, fields: {}, trouble: null, takes: 0 }
  /** Whether several requests are sent at the same time: then none of them takes time, which would age the others. */
  isCrowded = false
  #answers = 0

  constructor(rules: Rules) {
    this.#rules = rules
  }

  get now(): number {
    return Date.now() / 1000
  }

  wait(seconds: number): void {
    vi.advanceTimersByTime(seconds * 1000)
  }

  expect(request: Request): void {
    this.#requests.set(request.id, request)
  }

  /** Invalidates all responses for a URI. */
  invalidate(uri: string): void {
    for (const past of this.pasts) if (past.original.uri === uri) past.isInvalid = true
  }

  /** The innermost handler. A field of the request holds its number. */
  readonly send: Handler = async (exchange) => {
    const request = this.#requests.get(Number(getFirstFieldValue(exchange.fields, 'x-request')))
    if (request === undefined) throw new Error('no client has sent this')
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
    if (isCut) return { ...body, body: truncatedBody() }
    return { ...body, body: completeBody(Buffer.from(isCurrent ? '' : `answer ${id}`)) }
  }

  #remember(request: Request, { id, status, fields, requestedAt, receivedAt }: Response, isCut: boolean): void {
    const received = { fields, requestedAt, receivedAt }
    if (status !== 304) {
      this.pasts.push({
        original: request,
        body: id,
        status,
        first: fields,
        current: received,
        selectedBy: request,
        isCut,
        isInvalid: false,
      })
      return
    }
    const confirmed = this.pasts.filter(
      (past) => !past.isInvalid && !past.isCut && confirms(past, request, fields, this.#rules),
    )
    const selected = confirmed.filter((past) => belongsTo(past, request))
    for (const past of confirmed) {
      // The earlier Age is not kept: it counts from the last time the upstream was asked (§5.1).
      const { age: _, ...kept } = past.current.fields
      const current = { ...received, fields: { ...kept, ...fields } }
      if (isOnlyForItsCredentials(request, past.status, current.fields, this.#rules)) continue
      const isSelected = selected.includes(past)
      // It is a response to this request from now on. A cache may validate even what it could not have selected
      // (§4.3.1). It is unknown whether this one did, so its earlier state is kept beside it.
      const isKnown = this.pasts.some((other) => other.body === past.body && other.selectedBy === request)
      if (!isKnown && (isSelected || !selected.some(({ body }) => body === past.body)))
        this.pasts.push({ ...past, current, selectedBy: request })
      if (isSelected) past.current = current
    }
  }
}

const flat = (fields: Readonly<Record<string, string>>): string[] => Object.entries(fields).flat()
