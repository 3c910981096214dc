import { getFirstFieldValue } from '../../../src/header-fields.ts'
import type { Got } from '../play.ts'
import { ageOf, type Circumstances, confirms, type Past, type Request, type Rules, unusable } from './model.ts'
import type { Call } from './world.ts'

/** Is what happened while a request was answered; others may have been at the same time. */
export interface Event {
  readonly request: Request
  readonly got: Got
  readonly calls: readonly Call[]
  /** When it was sent, and when it was answered. */
  readonly from: number
  readonly to: number
  readonly pasts: readonly Past[]
}

/** Says what is wrong with an answer; null: nothing. */
export const wrongWith = (event: Event, rules: Rules): string | null => {
  const { request, got, calls, pasts } = event
  const own = calls.filter((call) => call.request.id === request.id)
  const asked = request.fields['cache-control'] ?? ''
  const responses = calls.flatMap(({ response }) => response ?? [])
  const isDisconnected = calls.some(({ response }) => response === null)
  const isFailing = responses.some(({ status }) => [500, 502, 503, 504].includes(status))
  const named = getFirstFieldValue(got.fields, 'x-answer')
  if (named === undefined) {
    if (got.status === 304) return own.some(({ response }) => response?.status === 304) ? null : 'a 304 of nothing'
    if (got.status === 504 && asked.includes('only-if-cached')) return null
    return isDisconnected || got.status < 500 ? null : `a ${got.status} out of nothing`
  }
  const id = Number(named)
  const versions = pasts.filter(({ body }) => body === id)
  if (versions.length === 0) return `nobody has ever given answer ${id}`
  const isOwn = own.some(({ response }) => response?.id === id)
  if (isOwn && asked.includes('only-if-cached')) return 'it was asked for'
  const trouble: Circumstances['trouble'] = isDisconnected ? 'disconnected' : isFailing ? 'error' : 'none'
  const whys = versions.map((past) => wrongBody(past, got) ?? (isOwn ? null : wrongUse(past, event, trouble, rules)))
  return whys.includes(null) ? null : `answer ${id}: ${whys.join('; or ')}`
}

const wrongBody = ({ isCut, body }: Past, got: Got): string | null =>
  got.status === 304 || (isCut ? 'cut'.startsWith(got.body) : got.body === `answer ${body}`) ? null : `body ${got.body}`

/** Says why a request may not be answered with what came for another. */
const wrongUse = (
  past: Past,
  { request, got, calls, from, to }: Event,
  trouble: Circumstances['trouble'],
  rules: Rules,
): string | null => {
  // Who waits for the same is cut with who asked for it.
  if (past.isCut && !calls.some(({ response }) => response?.id === past.body)) return 'it was cut'
  const confirming = calls.filter(
    (call) => call.response?.status === 304 && confirms(past, call.request, call.response.fields, rules),
  )
  const isForThis = confirming.some((call) => call.request.id === request.id)
  const validated = isForThis ? 'this' : confirming.length > 0 ? 'another' : 'nobody'
  const why = unusable(past, request, { now: from, validated, trouble }, rules)
  if (why !== null || validated !== 'nobody') return why
  const age = Number(getFirstFieldValue(got.fields, 'age'))
  const [least, most] = [ageOf(past.current, from), ageOf(past.current, to)]
  return age >= least - 1 && age <= most ? null : `Age ${age}, not ${least} to ${most}`
}
