import {
  again,
  and,
  asking,
  cache,
  cc,
  forwarded,
  get,
  type Reply,
  type Row,
  requirements,
  reused,
  status,
  type Trouble,
  validating,
} from '../script.ts'

/** RFC 9111 §4.2.4 and RFC 5861: when a stale response may be sent. */
export const stale: Row[] = []
const { must, mustNot, may } = requirements(stale, 9111)
const extensions = requirements(stale, 5861)
/** What docs/caching.md says beyond them. */
const promises = requirements(stale, 'own')

const error = status(503)
const notStale = { body: 'latest' as const, asked: true }
const failing = { status: [500, 502, 503, 504] }
// Without any permission.
mustNot('4.2.4', 'a stale response is sent without permission', [get(cc('max-age=10')), again(forwarded, { at: 20 })])
for (const code of [500, 503])
  mustNot('4.2.4', `a stale response takes the place of a ${code} without permission`, [
    get(cc('max-age=10')),
    get(status(code), and(notStale, { status: code }), { at: 20 }),
  ])
// When disconnected.
const unreachable: readonly Trouble[] = ['refused', 'reset']
for (const trouble of unreachable)
  may('4.2.4', `when disconnected (${trouble}) a stale response may be sent`, [
    get(cc('max-age=10')),
    get(trouble, { status: 200, body: 1 }, { at: 20 }),
  ])
must('4', 'a stale response has its Age', [
  get(cc('max-age=10')),
  get('refused', and(reused, { fields: { age: 20 } }), { at: 20 }),
])
promises.may('caching', 'disconnected: sixty seconds, and no longer', [
  get(cc('max-age=10')),
  get('refused', reused, { at: 69 }),
  again(failing, { at: 71 }),
])
// RFC 5861 §3
const swr = cc('max-age=10, stale-while-revalidate=20')
extensions.may('3', 'stale-while-revalidate: the stale response is sent, and the upstream is asked in the background', [
  get(swr),
  again({ background: true, body: 1, fields: { age: 15 } }, { at: 15 }),
])
extensions.should('3', 'stale-while-revalidate: the background response is the next one', [
  get(swr),
  again({ background: true, body: 1 }, { at: 15 }),
  again({ asked: false, body: 2 }, { at: 16 }),
])
extensions.should('3', 'stale-while-revalidate: beyond its time the upstream is waited for', [
  get(swr),
  again(forwarded, { at: 31 }),
])
extensions.may('3', 'stale-while-revalidate: the background asks with the stored tag', [
  get(validating(cc('max-age=10, stale-while-revalidate=20', 'ETag', '"a"'))),
  again({ background: true, body: 1, sent: { 'if-none-match': '"a"' } }, { at: 15 }),
  again({ asked: false, body: 1, fields: { age: 1 } }, { at: 16 }),
])
extensions.may('3', 'stale-while-revalidate: the background asks with the fields that Vary names', [
  get(cc('max-age=10, stale-while-revalidate=20', 'Vary', 'X-A'), forwarded, asking('X-A', '1')),
  again({ background: true, body: 1, sent: { 'x-a': '1' } }, { at: 15, ...asking('X-A', '1') }),
])
extensions.should('3', 'stale-while-revalidate: a background response that may not be stored ends the stored one', [
  get(swr),
  get(cc('no-store'), { background: true, body: 1 }, { at: 15 }),
  again(forwarded, { at: 16 }),
])
extensions.may('3', 'stale-while-revalidate: an error in the background harms no client', [
  get(swr),
  get('reset', { background: true, body: 1 }, { at: 15 }),
  get(cc('max-age=10'), { status: 200 }, { at: 16 }),
])
extensions.may('3', 'stale-while-revalidate: a condition is evaluated on the stale response', [
  get(cc('max-age=10, stale-while-revalidate=20', 'ETag', '"a"')),
  again({ background: true, status: 304 }, { at: 15, ...asking('If-None-Match', '"a"') }),
])
// RFC 5861 §4
const sie = cc('max-age=10, stale-if-error=20')
for (const code of [500, 502, 503, 504])
  extensions.may('4', `stale-if-error: in the place of a ${code}`, [
    get(sie),
    get(status(code), and({ asked: true, status: 200, body: 1 }, { fields: { age: 15 } }), { at: 15 }),
  ])
for (const code of [404, 429, 501, 505])
  extensions.mustNot('4', `stale-if-error: in the place of a ${code}, which is no error of this kind`, [
    get(sie),
    get(status(code), and(notStale, { status: code }), { at: 15 }),
  ])
for (const trouble of unreachable)
  extensions.may(
    '4',
    `stale-if-error: when the connection is ${trouble}`,
    [get(sie), get(trouble, { status: 200, body: 1 }, { at: 15 })],
    cache({ staleWhenDisconnected: 0 }),
  )
extensions.may('4', 'stale-if-error: the upstream is asked each time all the same', [
  get(sie),
  get(error, { asked: true, status: 200, body: 1 }, { at: 15 }),
  get(cc('max-age=10'), forwarded, { at: 16 }),
])
extensions.may('4', 'a condition is evaluated on what is sent in the place of an error', [
  get(cc('max-age=10, stale-if-error=20', 'ETag', '"a"')),
  get(error, { status: 304 }, { at: 15, ...asking('If-None-Match', '"a"') }),
])
extensions.mustNot('4', 'stale-if-error gives another variant', [
  get(cc('max-age=10, stale-if-error=20', 'Vary', 'X-A'), forwarded, asking('X-A', '1')),
  get(error, and(notStale, { status: 503 }), { at: 15, ...asking('X-A', '2') }),
])
promises.may('caching', 'an error that could be stored does not take the place of what stale-if-error keeps', [
  get(cc('max-age=10, stale-if-error=1000')),
  get(status(503, 'Cache-Control', 'max-age=5'), { asked: true, status: 200, body: 1 }, { at: 15 }),
  get(status(503), { status: 200, body: 1 }, { at: 60 }),
])
const lastingError = (code: number): Reply => status(code, 'Cache-Control', 'max-age=60')
const unwilling = asking('Cache-Control', 'no-cache')
for (const code of [500, 501, 503, 507])
  promises.may('caching', `a ${code} with a lifetime leaves what stale-if-error keeps, though its own client took it`, [
    get(cc('max-age=10, stale-if-error=1000')),
    get(lastingError(code), and(notStale, { status: code }), { at: 15, ...unwilling }),
    get(error, { asked: true, status: 200, body: 1 }, { at: 20 }),
  ])
promises.may(
  'caching',
  'a 503 with a lifetime leaves what staleIfError keeps, though its own client took it',
  [
    get(cc('max-age=10')),
    get(lastingError(503), and(notStale, { status: 503 }), { at: 15, ...unwilling }),
    get(error, { asked: true, status: 200, body: 1 }, { at: 20 }),
  ],
  cache({ staleIfError: 600_000 }),
)
promises.may('caching', 'a 503 with a lifetime leaves what is fresh', [
  get(cc('max-age=60')),
  get(lastingError(503), and(notStale, { status: 503 }), { at: 5, ...unwilling }),
  again(reused, { at: 10 }),
])
promises.may('caching', 'a 501 that is not stored leaves what is fresh', [
  get(cc('max-age=60')),
  get(status(501), and(notStale, { status: 501 }), { at: 5, ...unwilling }),
  again(reused, { at: 10 }),
])
promises.may('caching', 'a 503 with a lifetime takes the place of what may no longer stand in for it', [
  get(cc('max-age=10, stale-if-error=10')),
  get(lastingError(503), and(notStale, { status: 503 }), { at: 30 }),
  again({ asked: false, status: 503, body: 2 }, { at: 40 }),
])
promises.may('caching', 'a 503 with a lifetime takes the place of what must be validated each time', [
  get(cc('no-cache, max-age=100, stale-if-error=100', 'ETag', '"a"')),
  get(lastingError(503), and(notStale, { status: 503 }), { at: 5 }),
  again({ asked: false, status: 503, body: 2 }, { at: 10 }),
])
promises.may('caching', 'what is good takes the place of a stored 503', [
  get(lastingError(503)),
  get(cc('max-age=60'), and(notStale, { status: 200 }), { at: 5, ...unwilling }),
  again({ asked: false, status: 200, body: 2 }, { at: 10 }),
])
for (const trouble of unreachable)
  promises.may('caching', `a stored 503 is not sent stale when the connection is ${trouble}`, [
    get(lastingError(503)),
    get(trouble, { status: 502, body: { text: '' } }, { at: 70 }),
  ])
promises.may(
  'caching',
  'a stored 503 is not sent stale in the place of another error',
  [get(lastingError(503)), get(status(500), and(notStale, { status: 500 }), { at: 70 })],
  cache({ staleIfError: 600_000 }),
)
promises.may('caching', 'a stored 503 is not sent stale while it is revalidated, whatever it says', [
  get(status(503, 'Cache-Control', 'max-age=10, stale-while-revalidate=100')),
  get(cc('max-age=60'), forwarded, { at: 20 }),
])
