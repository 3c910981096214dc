import { again, and, asking, cc, forwarded, get, type Row, requirements, reused, status } from '../script.ts'

/** RFC 9111 §4.1 and §4.4: which of several responses belongs to a request, and what an unsafe request does to them. */
export const vary: Row[] = []
const { must, mustNot, should, may } = requirements(vary, 9111)

const on = (names: string, ...fields: readonly string[]) => cc('max-age=60', 'Vary', names, ...fields)
mustNot('4.1', 'another value matches', [
  get(on('X-A'), forwarded, asking('X-A', '1')),
  again(forwarded, asking('X-A', '2')),
])
mustNot('4.1', 'Vary: * matches', [get(on('*'), forwarded, asking()), again(forwarded, asking())])
may('4.1', 'several variants are stored beside each other', [
  get(on('X-A'), forwarded, asking('X-A', '1')),
  again(forwarded, asking('X-A', '2')),
  again(and(reused, { body: 1 }), asking('X-A', '1')),
  again(and(reused, { body: 2 }), asking('X-A', '2')),
])
must('4.1', 'what a new response says of Vary counts', [
  get(cc('max-age=10')),
  get(on('X-A'), forwarded, { at: 20, ...asking('X-A', '1') }),
  again(forwarded, { at: 21, ...asking('X-A', '2') }),
])
should('4.1', 'a response that forgets Vary does not take the place of one that has it', [
  get(on('X-A'), forwarded, asking('X-A', '1')),
  get(cc('max-age=60'), forwarded, { at: 1, ...asking('X-A', '2') }),
  again({ asked: false, body: 1 }, { at: 2, ...asking('X-A', '1') }),
])
must('4', 'of several that match the most recent is used', [
  get(on('X-A'), forwarded, asking('X-A', '1', 'X-B', '1')),
  get(on('X-B'), forwarded, { at: 5, ...asking('X-A', '2', 'X-B', '1') }),
  again({ asked: false, body: 2 }, { at: 6, ...asking('X-A', '1', 'X-B', '1') }),
])
must('4', 'of several that match the one with the latest Date is used, whichever came last', [
  get(on('X-A', 'Date', '@t0-5'), forwarded, asking('X-A', '1', 'X-B', '1')),
  get(on('X-B', 'Date', '@t0-20'), forwarded, { at: 5, ...asking('X-A', '2', 'X-B', '1') }),
  again({ asked: false, body: 1 }, { at: 6, ...asking('X-A', '1', 'X-B', '1') }),
])
must('4.1', 'errors vary as well', [
  get(status(404, 'Cache-Control', 'max-age=60', 'Vary', 'X-A'), forwarded, asking('X-A', '1')),
  again(forwarded, asking('X-A', '2')),
])
mustNot('4.1', 'a client’s condition is evaluated on another variant', [
  get(on('X-A', 'ETag', '"a"'), forwarded, asking('X-A', '1')),
  get(on('X-A', 'ETag', '"b"'), { asked: true, status: 200 }, asking('X-A', '2', 'If-None-Match', '"a"')),
])
mustNot('4.1', 'a range is served from another variant', [
  get(on('X-A'), forwarded, asking('X-A', '1')),
  get(
    { status: 206, fields: ['Content-Range', 'bytes 0-1/9'], body: 'zz' },
    { asked: true, body: { text: 'zz' } },
    asking('X-A', '2', 'Range', 'bytes=0-1'),
  ),
])
must('4.1', 'a stale variant is validated, and the others stay', [
  get(cc('max-age=10', 'Vary', 'X-A', 'ETag', '"a"'), forwarded, asking('X-A', '1')),
  get(cc('max-age=100', 'Vary', 'X-A', 'ETag', '"b"'), forwarded, asking('X-A', '2')),
  get(cc('max-age=100', 'Vary', 'X-A', 'ETag', '"c"'), forwarded, { at: 20, ...asking('X-A', '1') }),
  again({ asked: false, body: 2 }, { at: 21, ...asking('X-A', '2') }),
  again({ asked: false, body: 3 }, { at: 21, ...asking('X-A', '1') }),
])
mustNot('4.1', 'a 304 that adds a name to Vary leaves the stored response to requests that differ in it', [
  get(cc('max-age=10', 'ETag', '"a"'), forwarded, asking('X-A', '1')),
  get(
    status(304, 'ETag', '"a"', 'Vary', 'X-A', 'Cache-Control', 'max-age=100'),
    { asked: true },
    { at: 20, ...asking('X-A', '1') },
  ),
  get(cc('max-age=100', 'Vary', 'X-A'), { asked: true }, { at: 21, ...asking('X-A', '2') }),
])

const post = { operation: 'inventory.sync', body: '{}' } as const
const stored = get(cc('max-age=60'))
const here = '/market/insights?@row'
const changes = (code: number, ...fields: readonly string[]) => get(status(code, ...fields), forwarded, post)
const invalidated = and(forwarded, { status: 200 })
must('4', 'an unsafe request is written through', [
  get(status(200, 'Cache-Control', 'max-age=60'), forwarded, post),
  again(forwarded, post),
])
for (const code of [200, 301])
  may('4.4', `a ${code} with Location makes what stands there invalid`, [
    stored,
    changes(code, 'Location', here),
    get(cc('max-age=60'), invalidated),
  ])
may('4.4', 'Location and Content-Location both count', [
  stored,
  get(cc('max-age=60'), forwarded, { operation: 'leads.pipeline' }),
  changes(201, 'Location', here, 'Content-Location', '/leads/pipeline?@row'),
  get(cc('max-age=60'), invalidated),
  again(invalidated, { operation: 'leads.pipeline' }),
])
may('4.4', 'all variants become invalid', [
  get(cc('max-age=60', 'Vary', 'X-A'), forwarded, { fields: ['X-A', '1'] }),
  again(forwarded, { fields: ['X-A', '2'] }),
  changes(201, 'Location', here),
  get(cc('max-age=60', 'Vary', 'X-A'), invalidated, { fields: ['X-A', '1'] }),
  again(invalidated, { fields: ['X-A', '2'] }),
])
for (const code of [404, 500])
  mustNot('4.4', `a ${code} makes anything invalid`, [stored, changes(code, 'Location', here), again(reused)])
mustNot('4.4', 'a Location of another host makes anything invalid', [
  stored,
  changes(201, 'Location', `http://other.test${here}`),
  again(reused),
])
may('4.4', 'the Location of a response to a safe request says nothing', [
  stored,
  get(status(200, 'Cache-Control', 'max-age=60', 'Location', here), forwarded, { operation: 'leads.pipeline' }),
  again(reused),
])
