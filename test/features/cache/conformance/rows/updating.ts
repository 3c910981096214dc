import { again, and, cc, confirmed, get, requirements, reused, status } from '../script.ts'

/** RFC 9111 §3.2: what a 304 changes of the fields that are stored. */
export const updating = requirements(9111)
const { must } = updating

const at = { at: 20 }

must('3.2', 'a field of the 304 replaces the stored one', [
  get(cc('max-age=10', 'ETag', '"a"', 'X-Own', 'old')),
  get(status(304, 'ETag', '"a"', 'X-Own', 'new'), and(confirmed, { fields: { 'x-own': 'new' } }), at),
  again(and(reused, { fields: { 'x-own': 'new' } }), { at: 21 }),
])
must('3.2', 'a field that only the 304 has is added', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"', 'X-Own', 'new'), and(confirmed, { fields: { 'x-own': 'new' } }), at),
  again(and(reused, { fields: { 'x-own': 'new' } }), { at: 21 }),
])
must('3.2', 'a field that the 304 does not have stays', [
  get(cc('max-age=10', 'ETag', '"a"', 'X-Own', 'old', 'Content-Type', 'a/b')),
  get(status(304, 'ETag', '"a"'), and(confirmed, { fields: { 'x-own': 'old', 'content-type': 'a/b' } }), at),
])
must('3.2', 'a field of several lines is replaced as a whole', [
  get(cc('max-age=10', 'ETag', '"a"', 'Link', '<a>', 'Link', '<b>')),
  get(status(304, 'ETag', '"a"', 'Link', '<c>'), and(confirmed, { fields: { link: '<c>' } }), at),
])
must('3.2', 'several lines of the 304 all come in', [
  get(cc('max-age=10', 'ETag', '"a"', 'Link', '<a>')),
  get(status(304, 'ETag', '"a"', 'Link', '<b>', 'Link', '<c>'), and(confirmed, { fields: { link: '<b>, <c>' } }), at),
])
must('3.2', 'names are compared whatever their case', [
  get(cc('max-age=10', 'ETag', '"a"', 'x-own', 'old')),
  get(status(304, 'etag', '"a"', 'X-OWN', 'new'), and(confirmed, { fields: { 'x-own': 'new', etag: '"a"' } }), at),
])
must('3.2', 'the Date of the 304 replaces the stored one', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"'), and(confirmed, { fields: { date: '@t0+20' } }), at),
])
must(
  '3.2',
  'the Content-Length of the 304 changes nothing',
  [
    get({ ...cc('max-age=10', 'ETag', '"a"'), body: 'hello' }),
    get(
      status(304, 'ETag', '"a"', 'Content-Length', '99'),
      and(confirmed, { fields: { 'content-length': /^5?$/ } }),
      at,
    ),
  ],
  {
    notOn: {
      policy: 'framing is the flow’s',
      layer: 'the public room writes the length of what is whole',
      sockets: 'a node:http server sends no length that is not its own',
    },
  },
)
must('3.2', 'what a 304 says of no-cache fields is not kept of them', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(
    status(304, 'ETag', '"a"', 'Cache-Control', 'max-age=10, private="x-own"', 'X-Own', 'secret'),
    { asked: true },
    at,
  ),
  again({ either: [and(reused, { fields: { 'x-own': null } }), { asked: true }] }, { at: 21 }),
])
