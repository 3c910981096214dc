import { again, and, cc, forwarded, get, requirements, reused, status } from '../script.ts'

/** RFC 9111 §4.4 and §4: what an unsafe request does to stored responses. */
export const invalidation = requirements(9111)
const { must, mustNot, may } = invalidation

const post = { operation: 'inventory.sync', body: '{}' } as const
const stored = get(cc('max-age=60'))
const here = '/market/insights?@row'
const changes = (code: number, ...fields: readonly string[]) => get(status(code, ...fields), forwarded, post)
const invalidated = and(forwarded, { status: 200 })
const asBefore = cc('max-age=60')

must('4', 'an unsafe request is written through', [
  get(status(200, 'Cache-Control', 'max-age=60'), forwarded, post),
  again(forwarded, post),
])
must('4', 'an unsafe request is not served from the response to a safe one', [
  stored,
  get(cc('max-age=60'), forwarded, post),
])
for (const code of [200, 201, 204, 301, 303])
  may('4.4', `a ${code} with Location makes what stands there invalid`, [
    stored,
    changes(code, 'Location', here),
    get(asBefore, invalidated),
  ])
for (const code of [200, 201, 204])
  may('4.4', `a ${code} with Content-Location makes what stands there invalid`, [
    stored,
    changes(code, 'Content-Location', here),
    get(asBefore, invalidated),
  ])
may('4.4', 'an absolute URI of the same origin counts', [
  stored,
  changes(201, 'Location', `http://gateway.test${here}`),
  get(asBefore, invalidated),
])
may('4.4', 'an authority is compared whatever its case', [
  stored,
  changes(201, 'Location', `http://GATEWAY.test${here}`),
  get(asBefore, invalidated),
])
may('4.4', 'the default port is the same origin', [
  stored,
  changes(201, 'Location', `http://gateway.test:80${here}`),
  get(asBefore, invalidated),
])
may('4.4', 'a reference without a scheme counts', [
  stored,
  changes(201, 'Location', `//gateway.test${here}`),
  get(asBefore, invalidated),
])
may('4.4', 'a relative reference is resolved', [
  stored,
  changes(201, 'Location', '../market/insights?@row'),
  get(asBefore, invalidated),
])
may('4.4', 'a fragment plays no part', [stored, changes(201, 'Location', `${here}#there`), get(asBefore, invalidated)])
may('4.4', 'Location and Content-Location both count', [
  stored,
  get(cc('max-age=60'), forwarded, { operation: 'leads.pipeline' }),
  changes(201, 'Location', here, 'Content-Location', '/leads/pipeline?@row'),
  get(asBefore, invalidated),
  again(invalidated, { operation: 'leads.pipeline' }),
])
may('4.4', 'all variants become invalid', [
  get(cc('max-age=60', 'Vary', 'X-A'), forwarded, { fields: ['X-A', '1'] }),
  again(forwarded, { fields: ['X-A', '2'] }),
  changes(201, 'Location', here),
  get(cc('max-age=60', 'Vary', 'X-A'), invalidated, { fields: ['X-A', '1'] }),
  again(invalidated, { fields: ['X-A', '2'] }),
])
for (const code of [400, 404, 409, 500, 503])
  mustNot('4.4', `a ${code} makes anything invalid`, [stored, changes(code, 'Location', here), again(reused)])
mustNot('4.4', 'a Location of another host makes anything invalid', [
  stored,
  changes(201, 'Location', `http://other.test${here}`),
  again(reused),
])
mustNot('4.4', 'a Location of another port makes anything invalid', [
  stored,
  changes(201, 'Location', `http://gateway.test:81${here}`),
  again(reused),
])
mustNot('4.4', 'a Location of another scheme makes anything invalid', [
  stored,
  changes(201, 'Location', `https://gateway.test${here}`),
  again(reused),
])
mustNot('4.4', 'a Content-Location of another host makes anything invalid', [
  stored,
  changes(200, 'Content-Location', `//other.test${here}`),
  again(reused),
])
mustNot('4.4', 'a Location with userinfo that looks like the origin makes anything invalid', [
  stored,
  changes(201, 'Location', `http://gateway.test@other.test${here}`),
  again(reused),
])
may('4.4', 'another query is another resource', [stored, changes(201, 'Location', `${here}&other`), again(reused)])
may('4.4', 'another path is another resource', [
  stored,
  changes(201, 'Location', '/market/insights/x?@row'),
  again(reused),
])
may('4.4', 'a Location that is no URI harms nothing', [stored, changes(201, 'Location', 'http://[::1'), again(reused)])
may('4.4', 'a response without either harms nothing', [stored, changes(200), again(reused)])
may('4.4', 'the Location of a response to a safe request says nothing', [
  stored,
  get(status(200, 'Cache-Control', 'max-age=60', 'Location', here), forwarded, { operation: 'leads.pipeline' }),
  again(reused),
])
