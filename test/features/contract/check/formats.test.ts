import { expect, test } from 'vitest'
import { formats } from '../../../../src/features/contract/check/formats.ts'
import { rulesOf } from '../validators.ts'

const starts = ['', ...'a http:// http://a http://a@ // P # / 2020-01-01T 12:00:00. a@ { {a http://['.split(' ')]
const units = [...'a 0 - . / %41 ~0 a. a- 0. a@ {a} [ : a: = T1 :: {a,'.split(' '), ' ', '\n']
const length = 1 << 13

/** Every format as a function, as Ajv calls it for a text. */
const checks = Object.entries(formats).flatMap(([name, check]) => {
  if (check instanceof RegExp) return [[name, (text: string) => check.test(text)] as const]
  return typeof check === 'function' ? [[name, check] as const] : []
})

test.each(checks)('%s takes a time that grows with the text alone', (_name, check) => {
  // Quadratic time would be minutes for each text.
  for (const start of starts)
    for (const unit of units) expect(typeof check(`${start}${unit.repeat(length / unit.length)}!`)).toBe('boolean')
})

const longest = 'Abc/'.repeat(1 << 18)

test.each([
  ['byte', longest],
  ['uri', `https://host.example/${longest}`],
  ['iri', `https://host.example/${longest}`],
  ['uri-template', `/${longest}{a}`],
  ['json-pointer', `/${longest}~0`],
  ['email', `"${longest}"@host.example`],
  ['duration', `P${'1'.repeat(1 << 20)}D`],
  ['date-time', `2026-11-28T12:00:00.${'9'.repeat(1 << 20)}Z`],
])('%s: a valid text of 1 MiB is checked', (format, text) => {
  const rules = rulesOf({ format })

  expect([rules(text), rules(`${text}~\n`)]).toEqual([[], ['format']])
})

const uuid = '2EB8AA08-aa98-11ea-b4aa-73b441d16380'
const words = (text: string): readonly string[] => text.split(/\s+/)

// The suite has most of the texts; here is what it leaves out, and one of each kind where the suite is not installed.
test.each<[format: string, source: string, valid: readonly string[], invalid: readonly string[]]>([
  [
    'byte',
    'RFC 4648 §4, §3.5 (bits of padding), §3.3 (other characters)',
    ['', 'QQ==', 'QUI=', 'QUJD', '+/+/'],
    ['QQ', 'QQ=', 'QQ===', 'QR==', 'QUJ=', 'QUJD\nQUJD', '!!!\nQUJD', 'QUJD=', '=', '====', 'Q=Q=', '-_-_', 'QQ==QQ=='],
  ],
  [
    'date-time',
    'RFC 3339 §5.6 and §5.7',
    words(`2026-11-28T23:59:59.999999999999999999Z 2016-12-31T23:59:60Z 2017-01-01T05:29:60.5+05:30
      2016-12-31T15:59:60-08:00 0000-02-29t00:00:00z`),
    [
      ...words(`2026-11-28T12:00:00+01 2026-11-28T12:00:00+0100 2026-11-28T12:00:00+24:00 2026-11-28T12:00:00.Z
        2026-11-28T12:00:00 2026-02-29T12:00:00Z 2026-11-28T23:59:60Z 2016-12-31T23:59:60+01:00
        2016-12-31T24:59:60+01:00`),
      '2026-11-28 12:00:00Z',
      '2026-11-28\n12:00:00Z',
    ],
  ],
  ['time', 'RFC 3339 §5.6', ['23:59:59.9999999999999999Z', '23:59:60Z'], ['12:00:00', '12:00:00+1:00', '23:58:60Z']],
  ['iso-date-time', 'ajv-formats', ['2026-11-28 12:00:00', '2026-11-28T12:00:00Z'], ['2026-11-28T12', '2026-11-28']],
  ['duration', 'RFC 3339 appendix A', ['P1Y2M', 'PT1M2S', 'P2W'], ['P1Y2D', 'PT1H2S', 'P1Y2W', 'P', 'PT', 'PT0.5S']],
  ['uuid', 'RFC 4122 §3', [uuid], [`urn:uuid:${uuid}`, uuid.replaceAll('-', '')]],
  [
    'email',
    'RFC 5321 §4.1.2',
    ['a@b', '""@b', '"a b\\""@b', 'a@[127.0.0.1]', 'a@[IPv6:2001:db8::1]', "o'brien@b.example"],
    ['a@b.', 'a@-b', 'a@b_c', 'a b@c', '"a"b"@c', '"a\\"@c', 'a@[IPv6:1:2:3:4:5:6:7::]', 'a@[x:y]', 'ä@b', 'a@b@c'],
  ],
  ['idn-email', 'RFC 6531 §3.3', ['ä@bücher.example', '"ä"@b'], ['a@b..example', '\ud800@b', 'a@\u302ex.example']],
  [
    'hostname',
    'RFC 1123 §2.1',
    ['A-1.b', 'ab--c', `${'a'.repeat(63)}.b`],
    ['a.', 'a_b', '-a', 'a-', `${'a'.repeat(64)}.b`, 'xn--a', 'a.'.repeat(127), `${'a.'.repeat(126)}ab`, 'ä'],
  ],
  ['idn-hostname', 'RFC 5890 §2.3.2.3', ['bücher.example', 'a'], ['bücher..example', '\u0640', 'ä'.repeat(254)]],
  ['ipv4', 'RFC 2673 §3.2', ['255.0.0.1'], ['256.0.0.1', '01.0.0.1', '1.1.1', '1.1.1.1\n']],
  [
    'ipv6',
    'RFC 4291 §2.2',
    ['::', '::1', '1::', '1:2:3:4:5:6:7::', '::ffff:1.2.3.4', '1:2:3:4:5:6:7:8'],
    words('::: 1::2::3 1:2:3:4:5:6:7:8:: 1:2:3:4:5:6:7 1.2.3.4:: ::1.2.3.04 12345:: ::1%eth0 :1 1:'),
  ],
  [
    'uri',
    'RFC 3986 §3',
    ['a:', 'http://[::1]:80/', 'http://[v1.a:b]/', 'http://a:/', 'http:///a', 'urn:a:b?c/?#d/?', 'http://a/%c3%a4'],
    words('/a http://a:b/ http://a@b@c/ http://[::1 http://[::1]a/ a:[b] a:"b http://a/ä a:%zz a:b#c#d'),
  ],
  ['uri-reference', 'RFC 3986 §4.1', ['', '//a', '?a', '#', 'a/b:c'], ['1:b', ':a', '//a:b', '/[', '/a\\b']],
  ['iri', 'RFC 3987 §2.2', ['http://bücher.example/ä?\ue000'], ['http://a/\ue000', 'ä', 'a:\ud800', 'a:\ufffe']],
  [
    'uri-template',
    'RFC 6570 §2',
    ['', "/a'b{c}{?d*,e:3}", '{a.b}', '{%41}', '{+a}/ä'],
    ['{', '}', '{}', '{a,}', '{a..b}', '{.}', '{a:0}', '{a*:1}', '{a}}', '{a{b}}', 'a b', '%zz'],
  ],
  ['json-pointer', 'RFC 6901 §3', ['', '/', '/a~0~1'], ['a', '/~', '/~2']],
  ['json-pointer-uri-fragment', 'RFC 6901 §6', ['#', '#/a%20'], ['/a', '#a', '#/ä', '#/%']],
  ['relative-json-pointer', 'draft-bhutton-…-00 §3', ['0', '1+2/a', '0#'], ['01', '-1', '1+#', '/a']],
])('%s is what %s says', (format, _source, valid, invalid) => {
  const rules = rulesOf({ format })
  const isValid = (text: string): boolean => rules(text, 1000).length === 0

  expect([valid.filter((text) => !isValid(text)), invalid.filter(isValid)]).toEqual([[], []])
})

test.each<[format: string, valid: readonly number[], invalid: readonly number[]]>([
  ['int32', [-2147483648, 2147483647, 1e3], [2147483648, 1.5]],
  // 9223372036854775807, the largest one, is read as 2^63.
  ['int64', [-(2 ** 63), 2 ** 63], [2 ** 63 + 2048, -(2 ** 63) - 2048, 1e300, 0.5]],
  ['float', [3.4028234663852886e38, 0.1, 1e-300], [3.5e38, -1e300]],
  ['double', [Number.MAX_VALUE, 0.1], [Number.POSITIVE_INFINITY]],
])('%s has the range that the OpenAPI Format Registry says', (format, valid, invalid) => {
  const rules = rulesOf({ format })

  expect(valid.filter((value) => rules(value).length > 0)).toEqual([])
  // Infinity is no number of JSON: 1e400 has no format to keep.
  expect(invalid.filter((value) => Number.isFinite(value) && rules(value).length === 0)).toEqual([])
})

test('names in other scripts take steps: a body of many of them is given up', () => {
  const rules = rulesOf({ items: { format: 'idn-hostname' } })

  expect(rules(Array(100).fill('bücher.example'))).toEqual([])
  expect(rules(Array(50_000).fill('bücher.example'))).toEqual(['complexity'])
})

test('formats without a check are left out', () => {
  expect(Object.keys(formats)).toHaveLength(28)
  expect(formats).not.toHaveProperty('regex')
})
