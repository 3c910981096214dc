import { badHead, head, own, type Poison, second, sound, undecided, unsolicitedMark } from './poison.ts'

const length = ['Content-Length: 12']
const whole = head(length) + own
const started = (start: string): string => head(length, start) + own

/** First lines that are none (RFC 9112 §4). */
const startLines: readonly (readonly [name: string, start: string])[] = [
  ['a status of two digits', 'HTTP/1.1 20 OK'],
  ['a status of four digits', 'HTTP/1.1 2000 OK'],
  ['a status below 100', 'HTTP/1.1 099 OK'],
  ['a status of noughts', 'HTTP/1.1 000 OK'],
  ['a status with a plus', 'HTTP/1.1 +20 OK'],
  ['a status with a minus', 'HTTP/1.1 -20 OK'],
  ['a status in hexadecimal', 'HTTP/1.1 0xc8 OK'],
  ['a status with a blank in it', 'HTTP/1.1 2 00 OK'],
  ['a status with a fraction', 'HTTP/1.1 200.0 OK'],
  ['a status in a word', 'HTTP/1.1 OK'],
  ['no status', 'HTTP/1.1'],
  ['no blank before the status', 'HTTP/1.1200 OK'],
  ['two blanks before the status', 'HTTP/1.1  200 OK'],
  ['a tab before the status', 'HTTP/1.1\t200 OK'],
  ['a phrase that the status runs into', 'HTTP/1.1 200OK'],
  ['a version of one number', 'HTTP/1 200 OK'],
  ['version 2.0', 'HTTP/2.0 200 OK'],
  ['version 0.9', 'HTTP/0.9 200 OK'],
  ['version 1.10', 'HTTP/1.10 200 OK'],
  ['a version in lower case', 'http/1.1 200 OK'],
  ['another protocol', 'ICY 200 OK'],
  ['a blank before the version', ' HTTP/1.1 200 OK'],
  ['bytes before the version', `${unsolicitedMark}HTTP/1.1 200 OK`],
  ['a bare CR in the phrase', 'HTTP/1.1 200 O\rK'],
  ['a bare LF in the phrase', 'HTTP/1.1 200 O\nK'],
  ['NUL in the phrase', 'HTTP/1.1 200 O\0K'],
  ['a control character in the phrase', 'HTTP/1.1 200 O\x01K'],
  ['a request', 'GET / HTTP/1.1'],
]

/** Fields that are none (RFC 9112 §5, RFC 9110 §5.5), before a length that is right. */
const fields: readonly (readonly [name: string, line: string])[] = [
  ['without a colon', unsolicitedMark],
  ['without a name', ': a'],
  ['with a blank in its name', 'X A: b'],
  ['with a blank before its colon', 'X-A : b'],
  ['with quotes in its name', '"X-A": b'],
  ['with a bracket in its name', 'X(A): b'],
  ['with a name beyond ASCII', 'X-\xc4: b'],
  ['with NUL in its name', 'X\0A: b'],
  ['with NUL in its value', 'X-A: \0'],
  ['with a control character in its value', 'X-A: \x07'],
  ['with DEL in its value', 'X-A: \x7f'],
  ['with a bare CR in its value', `X-A: a\rX-Stray: ${unsolicitedMark}`],
  ['with a bare CR at its end', 'X-A: a\r'],
  ['that is folded', 'X-A: a\r\n b'],
  ['that is folded with a tab', 'X-A: a\r\n\tb'],
  ['that is 100 KB long', `X-A: ${'a'.repeat(100_000)}`],
  ['of which the name is 100 KB long', `X-${'a'.repeat(100_000)}: a`],
]

const bare: readonly Poison[] = [
  badHead('lines that end with LF', `HTTP/1.1 200 OK\nX-Own: ${own}\nContent-Length: 12\n\n${own}`),
  badHead('a last line that ends with LF', `HTTP/1.1 200 OK\r\nX-Own: ${own}\r\nContent-Length: 12\r\n\n${own}`),
  badHead('lines that end with CR', `HTTP/1.1 200 OK\rX-Own: ${own}\rContent-Length: 12\r\r${own}\r\n\r\n`),
  badHead('a field that ends with LF', `HTTP/1.1 200 OK\r\nX-A: a\nX-Own: ${own}\r\nContent-Length: 12\r\n\r\n${own}`),
  badHead(
    'a head of a thousand kilobytes',
    head(Array.from({ length: 1000 }, (_, n) => `X-${n}: ${'a'.repeat(1000)}`)),
  ),
  badHead('a head of 50,000 fields', head([...Array.from({ length: 50_000 }, () => 'A: b'), ...length]) + own),
  badHead('no head', `${unsolicitedMark}\r\n\r\n`),
  badHead('a head of TLS', '\x15\x03\x01\x00\x02\x02\x46\r\n\r\n'),
  badHead('a frame of HTTP/2', '\x00\x00\x00\x04\x00\x00\x00\x00\x00\r\n\r\n'),
  badHead('a greeting of SSH', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'),
  undecided('an empty line before the first', `\r\n${whole}`),
  undecided('a bare LF before the first line', `\n${whole}`),
  sound('no phrase', started('HTTP/1.1 200 ')),
  undecided('no phrase and no blank', started('HTTP/1.1 200')),
  sound('status 999', started('HTTP/1.1 999 Beyond'), { status: 999 }),
  sound('a phrase beyond ASCII', started('HTTP/1.1 200 \xff')),
  sound('a value beyond ASCII', head(['X-A: \xff', ...length]) + own),
  sound('a value with a tab in it', head(['X-A: a\tb', ...length]) + own),
  sound('a field without a value', head(['X-A:', ...length]) + own),
  undecided('a version of 1.9', started('HTTP/1.9 200 OK')),
]

const early = (status: number, ...lines: readonly string[]): string =>
  [`HTTP/1.1 ${status} Early`, `X-Stray: ${unsolicitedMark}`, ...lines, '', ''].join('\r\n')

/** Interim responses (RFC 9110 §15.2): none has a body, whatever it says. */
const interim: readonly Poison[] = [
  sound('100 before it', early(100) + whole),
  sound('102 before it', early(102) + whole),
  sound('103 before it', early(103) + whole),
  sound('103 before it, and another response behind it', early(103) + whole, { stray: second }),
  sound('100 three times before it', early(100).repeat(3) + whole),
  undecided('199 before it', early(199) + whole),
  undecided('103 that says a length', early(103, 'Content-Length: 12') + whole),
  undecided('100 that says a length', early(100, 'Content-Length: 12') + whole),
  undecided('103 that says chunks', early(103, 'Transfer-Encoding: chunked') + whole),
  undecided('103 that says close', early(103, 'Connection: close') + whole),
  undecided('103 a thousand times before it', early(103).repeat(1000) + whole),
  undecided('100 ten thousand times before it', early(100).repeat(10_000) + whole),
  undecided('102 with nothing ten thousand times before it', 'HTTP/1.1 102 P\r\n\r\n'.repeat(10_000) + whole),
  badHead('101 alone', early(101, 'Upgrade: x', 'Connection: Upgrade')),
  badHead('101 and another response', early(101, 'Upgrade: x', 'Connection: Upgrade') + second),
  badHead('101 and the response', early(101, 'Upgrade: websocket', 'Connection: Upgrade') + whole),
  badHead('101 without a word of what to', early(101) + whole),
  badHead('101 that says a length', early(101, 'Content-Length: 12') + whole),
  badHead('103 and then no response', `${early(103) + unsolicitedMark}\r\n\r\n`),
]

const of = (status: number, ...lines: readonly string[]): string => head(lines, `HTTP/1.1 ${status} Said`)

/** Responses that have no body, or end without saying where (RFC 9112 §6.3). */
const bodiless: readonly Poison[] = [
  sound('304 with a length', of(304, 'Content-Length: 12'), { status: 304, body: '' }),
  sound('304 with a length and a body', of(304, 'Content-Length: 12'), {
    status: 304,
    body: '',
    stray: unsolicitedMark,
  }),
  undecided('304 with chunks that it does not have', of(304, 'Transfer-Encoding: chunked'), { status: 304, body: '' }),
  undecided('304 with chunks', of(304, 'Transfer-Encoding: chunked'), {
    ...{ status: 304, body: '' },
    stray: `5\r\n${unsolicitedMark}\r\n0\r\n\r\n`,
  }),
  undecided('204 with a length', of(204, 'Content-Length: 12'), { status: 204, body: '' }),
  undecided('204 with a length and a body', of(204, 'Content-Length: 5'), {
    status: 204,
    body: '',
    stray: unsolicitedMark,
  }),
  undecided('204 with chunks', of(204, 'Transfer-Encoding: chunked'), {
    ...{ status: 204, body: '' },
    stray: `5\r\n${unsolicitedMark}\r\n0\r\n\r\n`,
  }),
  sound('304 with two lengths that agree, by its own coding', of(304, 'ETag: "a"'), { status: 304, body: '' }),
  sound('205 with a length', of(205, 'Content-Length: 0'), { status: 205, body: '' }),
  sound('205 with a length and a body', `${of(205, 'Content-Length: 5')}stray`, { status: 205, body: '' }),
  sound('HTTP/1.0 with a length', started('HTTP/1.0 200 OK'), { stray: second }),
  sound('HTTP/1.0 that is kept open', head([...length, 'Connection: keep-alive'], 'HTTP/1.0 200 OK') + own),
  sound('HTTP/1.0 up to the end', head([], 'HTTP/1.0 200 OK') + own, { ends: true }),
  sound('a response that says close', head([...length, 'Connection: close']) + own, { stray: second }),
  sound('one that says close and keep-alive', head([...length, 'Connection: keep-alive, close']) + own, {
    stray: second,
  }),
  sound('one that says upgrade', head([...length, 'Connection: Upgrade', 'Upgrade: h2c']) + own, { stray: second }),
  sound('426 with what to upgrade to', of(426, ...length, 'Upgrade: h2c', 'Connection: Upgrade') + own, {
    status: 426,
  }),
]

export const heads: readonly Poison[] = [
  ...startLines.map(([name, start]) => badHead(`a first line that is ${name}`, started(start))),
  ...fields.map(([name, line]) => badHead(`a field ${name}`, head([line, ...length]) + own)),
  ...bare,
  ...interim,
  ...bodiless,
]
