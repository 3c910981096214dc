import { badBody, badHead, head, own, type Poison, second, sound, unsolicitedMark } from './poison.ts'

const body = own
const said = (length: string, name = 'Content-Length'): string => head([`${name}: ${length}`])

/**
 * Bodies that are longer or shorter than their head says, with and without another response in their place (RFC 9112
 * §6.3).
 */
const wrongLengths: readonly Poison[] = [
  sound('a body that is a byte longer than said', said('12') + body, { stray: 's' }),
  sound('a body that is much longer than said', said('12') + body, { stray: unsolicitedMark.repeat(50_000) }),
  sound('a body where none was said', said('0'), { body: '', stray: unsolicitedMark }),
  sound('a body that ends with another response, by its length', said(String(12 + second.length)) + body + second, {
    body: body + second,
  }),
  sound('a body of which its length leaves out a half', said('6') + body.slice(0, 6), {
    body: 'own-00',
    stray: `${unsolicitedMark}${second}`,
  }),
  badBody('a body that is a byte shorter than said', said('13') + body, { ends: true }),
  badBody('a body that is much shorter than said', said('99999') + body, { ends: true }),
  badBody('no body where one was said', said('12'), { ends: true }),
  badBody('a body too short, and another response that is too short as well', said('99999') + body + second, {
    body: body + second,
    ends: true,
  }),
  // What follows is the body, whatever it looks like: nothing else says where it ends.
  sound('a head alone as to HEAD, and another response', said('12') + second.slice(0, 12), {
    body: second.slice(0, 12),
    stray: second.slice(12),
  }),
  sound('a head alone as to HEAD, and another response, exactly as long', said(String(second.length)) + second, {
    body: second,
  }),
  sound('a head as to HEAD that says no length, and the end', head([]), { body: '', ends: true }),
  sound('no length, another response and the end', head([]) + body + second, { body: body + second, ends: true }),
]

/** Lengths that are not `1*DIGIT` (RFC 9110 §8.6), each before a body of twelve bytes and another response. */
const malformed: readonly (readonly [name: string, value: string])[] = [
  ['a plus', '+12'],
  ['a minus', '-12'],
  ['a minus and nought', '-0'],
  ['a plus and nought', '+0'],
  ['two numbers and a blank', '1 2'],
  ['two numbers and a tab', '1\t2'],
  ['a list of the same', '12, 12'],
  ['a list of different ones', '12, 0'],
  ['a list that begins empty', ',12'],
  ['a list that ends empty', '12,'],
  ['a parameter', '12;a=b'],
  ['hexadecimal', '0x0c'],
  ['hexadecimal without a sign of it', 'c'],
  ['octal', '0o14'],
  ['a fraction', '12.0'],
  ['an exponent', '12e0'],
  ['a grouping comma', '1,2'],
  ['a grouping underscore', '1_2'],
  ['quotes', '"12"'],
  ['a word', 'twelve'],
  ['infinity', 'Infinity'],
  ['no number', 'NaN'],
  ['nothing', ''],
  ['only a blank', '  '],
  ['a control character behind it', '12\x01'],
  ['NUL behind it', '12\0'],
  ['a vertical tab behind it', '12\x0b'],
  ['a form feed before it', '\x0c12'],
  ['a no-break space behind it', '12\xa0'],
  ['digits beyond ASCII', '\xb9\xb2'],
  ['2^32 + 12', '4294967308x'],
  ['2^64 + 12', '18446744073709551628'],
  ['2^128 + 12', '340282366920938463463374607431768211468'],
  ['a thousand digits', `${'9'.repeat(1000)}`],
  ['a bare CR behind it', '12\r'],
  ['a bare CR and another one', '12\rContent-Length: 0'],
  ['a folded line', '\r\n 12'],
  ['a folded line behind it', '12\r\n 0'],
]

/** What else can be wrong with the fields that say a length (RFC 9112 §5.1, §6.3). */
const wrongFields: readonly Poison[] = [
  badHead('two lengths that differ', head(['Content-Length: 12', 'Content-Length: 0']) + body + second),
  badHead('two lengths that differ, the first one nought', head(['Content-Length: 0', 'Content-Length: 12']) + body),
  badHead('two lengths in two spellings', head(['Content-Length: 12', 'CONTENT-LENGTH: 13']) + body),
  badHead('two lengths, one of them empty', head(['Content-Length: 12', 'Content-Length:']) + body),
  badHead('a blank before the colon of a length', head(['Content-Length : 12']) + body + second),
  badHead('a tab before the colon of a length', head(['Content-Length\t: 12']) + body + second),
  badHead('a blank before a length', head([' Content-Length: 12']) + body + second),
  badHead('NUL in the name of a length', head(['Content-Length\0: 12']) + body + second),
  badHead('a length in the first line, folded', `HTTP/1.1 200 OK\r\n Content-Length: 12\r\n\r\n${body}`),
  badHead(
    'a length behind a bare LF',
    `HTTP/1.1 200 OK\r\nX-Own: ${own}\nContent-Length: 0\r\nContent-Length: 12\r\n\r\n${body}`,
  ),
  badHead('a length and chunks', head(['Content-Length: 12', 'Transfer-Encoding: chunked']) + body + second),
  badHead(
    'chunks and a length',
    `${head(['Transfer-Encoding: chunked', 'Content-Length: 5'])}c\r\n${body}\r\n0\r\n\r\n`,
  ),
  badHead('chunks and a length of nought', head(['Transfer-Encoding: chunked', 'Content-Length: 0']) + second),
  badHead('a length and a coding that is not chunked', head(['Content-Length: 12', 'Transfer-Encoding: gzip']) + body),
  badHead('a length and an empty coding', head(['Content-Length: 12', 'Transfer-Encoding:']) + body),
  sound('a length with noughts before it', said('0000000012') + body),
  sound('a length with blanks around it', said('  12  ') + body),
  sound('a length in capitals', said('12', 'CONTENT-LENGTH') + body),
  sound('no length but one of another name', head(['Content_Length: 3', 'X-Content-Length: 3']) + body, { ends: true }),
]

export const lengths: readonly Poison[] = [
  ...wrongLengths,
  ...malformed.map(([name, value]) => badHead(`a length that is ${name}`, said(value) + body + second)),
  ...wrongFields,
]
