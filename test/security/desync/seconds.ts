import { head, own, type Poison, second, sound, unsolicitedMark } from './poison.ts'

/** Responses that are as they should be, in every framing. */
const firsts: readonly Poison[] = [
  sound('a length', head(['Content-Length: 12']) + own),
  sound('a length of nought', head(['Content-Length: 0']), { body: '' }),
  sound('chunks', `${head(['Transfer-Encoding: chunked'])}c\r\n${own}\r\n0\r\n\r\n`),
  sound('chunks and a trailer', `${head(['Transfer-Encoding: chunked'])}c\r\n${own}\r\n0\r\nX-A: b\r\n\r\n`),
  sound('204', head([], 'HTTP/1.1 204 No Content'), { status: 204, body: '' }),
  sound('304 with a length', head(['Content-Length: 12'], 'HTTP/1.1 304 Not Modified'), { status: 304, body: '' }),
  sound('205', head(['Content-Length: 0'], 'HTTP/1.1 205 Reset Content'), { status: 205, body: '' }),
  sound('103 before it', `HTTP/1.1 103 Early\r\nLink: a\r\n\r\n${head(['Content-Length: 12'])}${own}`),
  sound('HTTP/1.0, kept open', head(['Content-Length: 12', 'Connection: keep-alive'], 'HTTP/1.0 200 OK') + own),
]

/** What comes behind its end, or while nothing was asked (RFC 9112 §9.2). */
const unsolicited: readonly (readonly [name: string, bytes: string])[] = [
  ['a 200', second],
  ['a hundred of them', second.repeat(100)],
  ['a 200 in chunks', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n${unsolicitedMark}\r\n0\r\n\r\n`],
  ['a 200 up to the end of the connection', `HTTP/1.1 200 OK\r\n\r\n${unsolicitedMark}`],
  ['a 204', `HTTP/1.1 204 No Content\r\nX-Stray: ${unsolicitedMark}\r\n\r\n`],
  ['a 304', `HTTP/1.1 304 Not Modified\r\nX-Stray: ${unsolicitedMark}\r\n\r\n`],
  ['a 408', `HTTP/1.1 408 Request Timeout\r\nX-Stray: ${unsolicitedMark}\r\nContent-Length: 0\r\n\r\n`],
  ['a 100', `HTTP/1.1 100 Continue\r\nX-Stray: ${unsolicitedMark}\r\n\r\n`],
  ['a 101', `HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n${unsolicitedMark}`],
  ['a 103', `HTTP/1.1 103 Early Hints\r\nX-Stray: ${unsolicitedMark}\r\n\r\n`],
  ['a 200 of HTTP/1.0', `HTTP/1.0 200 OK\r\n\r\n${unsolicitedMark}`],
  ['half a head', `HTTP/1.1 200 OK\r\nX-Stray: ${unsolicitedMark}`],
  ['the first byte of one', 'H'],
  ['an empty line', '\r\n'],
  ['an empty line and a 200', `\r\n${second}`],
  ['LF', '\n'],
  ['NUL', '\0'],
  ['a blank', ' '],
  ['a last chunk', '0\r\n\r\n'],
  ['no HTTP', unsolicitedMark],
]

const behind = (first: Poison): readonly Poison[] =>
  unsolicited.map(([name, stray]) => ({ ...first, name: `${first.name}, and then ${name}`, stray }))

/** Every framing with everything behind it. */
export const seconds: readonly Poison[] = firsts.flatMap(behind)

/** A length, the usual framing, with everything behind it. */
export const usual: readonly Poison[] = firsts.slice(0, 1).flatMap(behind)
