import { getFirstFieldValue } from '../../../../../src/core/exchange/header-fields.ts'
import type { ClientResponse } from '../play.ts'
import { ageOf, type Circumstances, confirms, type Past, type Request, type Rules, unusable } from './model.ts'
import type { Call } from './world.ts'

/** What happened during a request; others may have been under way at the same time. */
export interface Event {
  readonly request: Request
  readonly response: ClientResponse
  readonly calls: readonly Call[]
  /** When it was sent, and when the response came. */
  readonly from: number
  readonly to: number
  readonly pasts: readonly Past[]
}

/** Returns what is wrong with a response; null: nothing. */
export const findFault = (event: Event, rules: Rules): string | null => {
  const { request, response, calls, pasts } = event
  const own = calls.filter((call) => call.request.id === request.id)
  const directives = request.fields['cache-control'] ?? ''
  const responses = calls.flatMap(({ response }) => response ?? [])
  const isDisconnected = calls.some(({ response }) => response === null)
  const isFailing = responses.some(({ status }) => [500, 502, 503, 504].includes(status))
  const named = getFirstFieldValue(response.fields, 'x-answer')
  if (named === undefined) {
    if (response.status === 304) return own.some(({ response }) => response?.status === 304) ? null : 'a 304 of nothing'
    if (response.status === 504 && directives.includes('only-if-cached')) return null
    return isDisconnected || response.status < 500 ? null : `a ${response.status} out of nothing`
  }
  const id = Number(named)
  const versions = pasts.filter(({ body }) => body === id)
  if (versions.length === 0) return `the upstream never sent answer ${id}`
  const isOwn = own.some(({ response }) => response?.id === id)
  if (isOwn && directives.includes('only-if-cached')) return 'the upstream was asked'
  const trouble: Circumstances['trouble'] = isDisconnected ? 'disconnected' : isFailing ? 'error' : 'none'
  const whys = versions.map(
    (past) => wrongBody(past, response) ?? (isOwn ? null : wrongUse(past, event, trouble, rules)),
  )
  return whys.includes(null) ? null : `answer ${id}: ${whys.join('; or ')}`
}

const wrongBody = ({ isCut, body }: Past, response: ClientResponse): string | null =>
  response.status === 304 || (isCut ? 'cut'.startsWith(response.body) : response.body === `answer ${body}`)
    ? null
    : `body ${response.body}`

/** Returns why a request may not be served what came for another. */
const wrongUse = (
  past: Past,
  { request, response, calls, from, to }: Event,
  trouble: Circumstances['trouble'],
  rules: Rules,
): string | null => {
  // A request that waits for the same fetch is cut with the one that began it.
  if (past.isCut && !calls.some(({ response }) => response?.id === past.body)) return 'it was cut'
  const confirming = calls.filter(
    (call) => call.response?.status === 304 && confirms(past, call.request, call.response.fields, rules),
  )
  const isForThis = confirming.some((call) => call.request.id === request.id)
  const validated = isForThis ? 'this' : confirming.length > 0 ? 'another' : 'none'
  const why = unusable(past, request, { now: from, validated, trouble }, rules)
  if (why !== null || validated !== 'none') return why
  const age = Number(getFirstFieldValue(response.fields, 'age'))
  const [min, max] = [ageOf(past.current, from), ageOf(past.current, to)]
  return age >= min - 1 && age <= max ? null : `Age ${age}, not ${min} to ${max}`
}
