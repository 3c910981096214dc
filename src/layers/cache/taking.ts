import type { Answer } from '../../exchange.ts'
import { type Fields, without } from '../../fields.ts'
import type { Fetching, Landing, Shared } from './fetching.ts'
import type { AnswerTimes } from './policy/freshness.ts'
import type { CacheRequest } from './policy/request.ts'
import { keepsPlace } from './policy/reuse.ts'
import { select } from './policy/selecting.ts'
import { isOfTheRequest, isServerError } from './policy/statuses.ts'
import { type StoredHead, withLength } from './policy/stored.ts'
import { type NotStored, storable } from './policy/storing.ts'
import { refreshed } from './policy/validating.ts'
import { declaredLength, Recording } from './recording.ts'
import type { Reservation } from './store.ts'
import { ownCopy, type Stored, StoredBody } from './stored.ts'

/** Is what a fetch has to know, and to be told, of what becomes of its answer. */
export interface Taking {
  readonly request: CacheRequest
  readonly fetching: Fetching
  readonly reservation: Reservation
  readonly times: AnswerTimes
  /** Nobody can join it from now on. */
  finish(): void
  /** What comes is too long to be stored. */
  lost(): void
  /** A reader has left, and it may have been the last. */
  deserted(): void
}

// What an upstream repeats of the request: stored, it would tell one client of another's.
const ofOneExchange: ReadonlySet<string> = new Set(['x-fapi-interaction-id'])

/** Makes of an answer what those who asked may use, and stores it if it is all there. */
export const take = (taking: Taking, answer: Answer): Landing => {
  const { request, fetching, times, reservation } = taking
  const { rules, part, key } = fetching
  const { status, fields, body } = answer
  // Not what there was when it was sent: another fetch may have stored something better meanwhile.
  const present = select(part.find(key)?.variants ?? [], request)
  if (present !== null && keepsPlace(present.head, status, request, times.receivedAt))
    return alone(answer, 'stale-if-error')
  const verdict = storable(request, kept(answer), times, rules)
  if (verdict.head === null) {
    forget(taking, status, verdict.not)
    return alone(answer, verdict.not)
  }
  const { head } = verdict
  const whole = body.whole()
  if (whole !== null) return takeWhole(taking, answer, head, whole)
  const declared = declaredLength(answer)
  const most = rules.maxEntry - head.bytes
  if (declared === undefined || (declared ?? 0) > most) {
    const why = declared === undefined ? 'bad-length' : 'too-large'
    forget(taking, status, why)
    return alone(answer, why)
  }
  if (!reservation.grow((declared ?? 0) + head.bytes)) return alone(answer, 'no-room')
  const recording = record(taking, answer, head, declared, most)
  return shared(head, fields, recording)
}

/** Makes what all may use of an answer that is stored, or will be when it has come to its end. */
const shared = (head: StoredHead, fields: Fields, body: Shared['body']): Shared => ({
  kind: 'shared',
  head,
  fields,
  body,
  isValidated: false,
  isStored: true,
  not: null,
})

/** Updates what is stored by a 304 (RFC 9111 §4.3.4), and lets it be used; null: that was about something else. */
export const takeNotModified = (taking: Taking, answer: Answer, validated: Stored): Landing | null => {
  const { request, fetching, times } = taking
  const { rules, part, key, sighting } = fetching
  const update = refreshed(validated.head, request, kept(answer), times, rules)
  if (update.kind === 'other') return null
  const { body } = validated
  const updated = update.kind === 'updated' ? update.stored.head : null
  if (updated !== null) store(taking, { head: updated, body })
  else if (update.kind === 'updated') {
    part.remove(key, chosenBy(taking))
    sighting?.remove()
  }
  return {
    kind: 'shared',
    head: updated ?? validated.head,
    fields: update.fields,
    body,
    isValidated: true,
    isStored: updated !== null,
    not: update.kind === 'updated' && update.stored.head === null ? update.stored.not : null,
  }
}

const alone = (answer: Answer, not: NotStored): Landing => ({ kind: 'alone', answer, not })

const kept = (answer: Answer): Answer => ({ ...answer, fields: without(answer.fields, ofOneExchange) })

const takeWhole = (taking: Taking, answer: Answer, head: StoredHead, whole: Buffer): Landing => {
  const body = new StoredBody(ownCopy(whole))
  const complete = storeWhole(taking, head, body)
  if (complete === null) return alone({ ...answer, body }, 'too-large') // its own has been taken
  return shared(complete, answer.fields, body)
}

const record = (taking: Taking, answer: Answer, head: StoredHead, declared: number | null, most: number): Recording =>
  new Recording(answer.body, declared, most, taking.reservation, {
    complete: (bytes, readBy) => {
      const body = new StoredBody(bytes)
      storeWhole(taking, head, body)
      for (const exchange of readBy) taking.fetching.part.lend(exchange, body)
      taking.finish()
    },
    lost: () => {
      forget(taking, head.status, 'too-large')
      taking.lost()
    },
    failed: () => taking.finish(),
    deserted: () => taking.deserted(),
  })

/** Stores an answer that has come to its end; null: it must not be. It never throws: the body is on its way to clients by then. */
const storeWhole = (taking: Taking, head: StoredHead, body: StoredBody): StoredHead | null => {
  const { rules, notices } = taking.fetching
  try {
    const complete = withLength(head, body.bytes.length)
    if (complete === null || complete.bytes + body.bytes.length > rules.maxEntry) return null
    store(taking, { head: complete, body })
    return complete
  } catch (error) {
    notices.broken(error)
    return null
  }
}

/** Stores it in place of what the same request would have chosen before. */
const store = (taking: Taking, entry: Stored): void => {
  const { part, sighting } = taking.fetching
  part.put(taking.reservation, entry, chosenBy(taking))
  if (!taking.reservation.isVoid) sighting?.store(entry)
}

/** Tells which variants the request could have been answered with: what has come is about all of them (RFC 9111 §4.3.3, §4.3.4). */
const chosenBy =
  ({ request, fetching: { stored } }: Taking) =>
  (other: Stored): boolean =>
    other === stored || select([other], request) !== null

/** Forgets what was stored: the upstream does not say it any more. Of a server error, and of a bad request, nothing is learnt about it. */
const forget = (taking: Taking, status: number, why: NotStored): void => {
  const { part, key, stored, sighting } = taking.fetching
  if (isServerError(status) || isOfTheRequest(status)) return
  if (stored !== null) part.remove(key, chosenBy(taking))
  sighting?.remove()
  part.uncacheable.note(key, why)
}
