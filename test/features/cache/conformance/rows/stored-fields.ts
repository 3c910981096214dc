import { again, and, cc, forwarded, get, ok, onlyTheWire, requirements, reused, stores, storesNot } from '../script.ts'

/** RFC 9111 §3.1: which fields are stored. */
export const storedFields = requirements(9111)
const { must, mustNot, may } = storedFields

must('3.1', 'fields that are unknown are stored and sent', [
  get(cc('max-age=60', 'X-Never-Seen', 'a, b;c="d"', 'Content-Type', 'application/json')),
  again(and(reused, { fields: { 'x-never-seen': 'a, b;c="d"', 'content-type': 'application/json' } })),
])
must('3.1', 'a field of several lines keeps them all, in order', [
  get(cc('max-age=60', 'Link', '<a>', 'X-Other', '1', 'Link', '<b>')),
  again(and(reused, { fields: { link: '<a>, <b>' } })),
])
must('3.1', 'bytes beyond ASCII in a field come back as they came', [
  get(cc('max-age=60', 'X-Name', 'Z\xfcrich')),
  again(and(reused, { fields: { 'x-name': 'Z\xfcrich' } })),
])
must('3.1', 'an empty field stays', [
  get(cc('max-age=60', 'X-Empty', '')),
  again(and(reused, { fields: { 'x-empty': '' } })),
])
must('3.1', 'Date stays what the origin said', [
  get(cc('max-age=60', 'Date', '@t0-5')),
  again(and(reused, { fields: { date: '@t0-5' } }), { at: 10 }),
])
must('3.1', 'Expires stays what the origin said', [
  get(ok('Expires', '@t0+60')),
  again(and(reused, { fields: { expires: '@t0+60' } }), { at: 10 }),
])
must('5.2', 'the response’s Cache-Control goes on to the client from the cache as well', [
  get(cc('max-age=60, x-own="1, 2"')),
  again(and(reused, { fields: { 'cache-control': 'max-age=60, x-own="1, 2"' } })),
])
must(
  '3.1',
  'fields that Connection names are not sent from the cache',
  [get(cc('max-age=60', 'Connection', 'X-Hop', 'X-Hop', '1')), again(and(reused, { fields: { 'x-hop': null } }))],
  onlyTheWire,
)
for (const name of ['Proxy-Authenticate', 'Proxy-Authentication-Info', 'Proxy-Authorization', 'Keep-Alive'])
  mustNot(
    '3.1',
    `${name} is stored`,
    [get(cc('max-age=60', name, 'x=1')), again(and(reused, { fields: { [name.toLowerCase()]: null } }))],
    onlyTheWire,
  )
mustNot(
  '3.1',
  'trailer fields become header fields',
  [
    get({ fields: ['Cache-Control', 'max-age=60', 'Trailer', 'X-Sum'], trailers: ['X-Sum', '1'] }),
    again(and(reused, { fields: { 'x-sum': null } })),
  ],
  onlyTheWire,
)
mustNot('5.2.2.7', 'a shared cache stores the fields that private names', [
  get(cc('max-age=60, private="x-mine"', 'X-Mine', 'secret')),
  again({ either: [and(reused, { fields: { 'x-mine': null } }), forwarded] }),
])
mustNot('5.2.2.7', 'the names in private are compared by their case', [
  get(cc('max-age=60, private="X-MINE, x-also"', 'x-mine', 'secret', 'X-Also', 'secret')),
  again({ either: [and(reused, { fields: { 'x-mine': null, 'x-also': null } }), forwarded] }),
])
may(
  '5.2.2.7',
  'of a response with private fields the rest is stored',
  stores(cc('max-age=60, private="x-mine"', 'X-Mine', 'secret')),
)
mustNot('5.2.2.7', 'private with a name that is not quoted lets that field be stored', [
  get(cc('max-age=60, private=x-mine', 'X-Mine', 'secret')),
  again({ either: [and(reused, { fields: { 'x-mine': null } }), forwarded] }),
])
mustNot(
  '5.2.2.7',
  'an unqualified private beside a qualified one is forgotten',
  storesNot(cc('max-age=60, private="x-mine", private')),
)
mustNot('5.2.2.4', 'the fields that no-cache names are sent without validation', [
  get(cc('max-age=60, no-cache="x-mine"', 'X-Mine', 'once')),
  again({ either: [and(reused, { fields: { 'x-mine': null } }), { asked: true }] }),
])
mustNot('5.2.2.4', 'no-cache with a name that is not quoted lets that field be sent', [
  get(cc('max-age=60, no-cache=X-Mine', 'X-Mine', 'once')),
  again({ either: [and(reused, { fields: { 'x-mine': null } }), { asked: true }] }),
])
