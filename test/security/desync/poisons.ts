/**
 * Responses whose framing lies, a few of each kind. `response-parser.test.ts` shows what a parser rejects: here, what
 * then happens to clients and connections.
 */

/** A hand-made response, and the outcomes allowed for its client. All bytes are latin1. */
export interface Poison {
  readonly name: string
  /** The marker of the request takes the place of {@link own}, which has the same length. */
  readonly bytes: string
  /** Bytes behind the end of the response: no client may get a byte of them. */
  readonly stray: string
  /**
   * Where the response becomes unreadable. `nowhere`: the client gets it whole. `head`: the client gets 502. `body`:
   * the client gets 502, or a part and the end of its connection. `undecided`: any of these, as RFC 9112 allows.
   */
  readonly breaks: 'nowhere' | 'head' | 'body' | 'undecided'
  /** The status and the body of a whole response to the client. */
  readonly status: number
  readonly body: string
  /** Whether the upstream ends the connection behind it. */
  readonly ends: boolean
}

/** Stands for the marker of the request, which is in its response alone. */
export const own = 'own-00000000'

/** What no client may be given. */
export const unsolicitedMark = 'stray'

const make = (name: string, bytes: string, more: Partial<Poison> = {}): Poison => ({
  ...{ name, bytes, stray: '', breaks: 'nowhere', status: 200, body: own, ends: false },
  ...more,
})

/** A response that is given to the client whole. */
const sound = make

/** The client does not get this response: its head is faulty. */
const badHead = (name: string, bytes: string): Poison => make(name, bytes, { breaks: 'head' })

/** The client may get a part of this response. Its connection ends behind a response that is too short. */
const badBody = (name: string, bytes: string, more: Partial<Poison> = {}): Poison =>
  make(name, bytes, { breaks: 'body', ...more })

/** A response that a reader may accept or reject. */
const undecided = (name: string, bytes: string, more: Partial<Poison> = {}): Poison =>
  make(name, bytes, { breaks: 'undecided', ...more })

/** Renders a head; `lines` are its fields. */
export const head = (lines: readonly string[], start = 'HTTP/1.1 200 OK'): string =>
  [start, `X-Own: ${own}`, ...lines, '', ''].join('\r\n')

/** A response to no request, which looks like a success. */
const second = `HTTP/1.1 200 OK\r\nX-Stray: ${unsolicitedMark}\r\nContent-Length: ${unsolicitedMark.length}\r\n\r\n${unsolicitedMark}`

const length = ['Content-Length: 12']
const said = (value: string): string => head([`Content-Length: ${value}`])
const started = (start: string): string => head(length, start) + own
const coded = (coding: string): string => head([`Transfer-Encoding: ${coding}`])
const begin = coded('chunked')
const last = '0\r\n\r\n'
const hex = (size: number): string => size.toString(16)
const fine = `c\r\n${own}\r\n${last}`

/** RFC 9112 §6.3, RFC 9110 §8.6. */
const lengths: readonly Poison[] = [
  sound('a body that is a byte longer than said', said('12') + own, { stray: 's' }),
  sound('a body that ends with another response', said(`${12 + second.length}`) + own + second, { body: own + second }),
  badBody('a body that is a byte shorter than said', said('13') + own, { ends: true }),
  badBody('a body too short, and another response', said('99999') + own + second, { body: own + second, ends: true }),
  // All following bytes are the body: nothing else ends it.
  sound('no length, another response and the end', head([]) + own + second, { body: own + second, ends: true }),
  badHead('a length that is a list', said('12, 0') + own + second),
  badHead('a length and chunks', head([...length, 'Transfer-Encoding: chunked']) + own + second),
]

/** RFC 9112 §7.1, §6.1. */
const chunks: readonly Poison[] = [
  badBody('a chunk size that wraps around', `${begin}1000000000000000c\r\n${own}\r\n${last}`),
  badBody('a chunk that is a byte longer than said', `${begin}b\r\n${own}\r\n${last}`),
  badBody('a chunk that another response fills up', `${begin}20\r\n${own}\r\n${last}${second}`, {
    body: `${own}\r\n${last}${second}`.slice(0, 0x20),
  }),
  badBody('chunks without a last one', `${begin}c\r\n${own}\r\n`, { ends: true }),
  badBody('a last chunk without its end, and another response', `${begin}c\r\n${own}\r\n0\r\n${second}`),
  badBody('a trailer that says a length', `${begin}c\r\n${own}\r\n0\r\nContent-Length: 5\r\n\r\n`),
  badBody('trailers of 100 KB', `${begin}c\r\n${own}\r\n0\r\n${`X-A: ${'b'.repeat(1000)}\r\n`.repeat(100)}\r\n`),
  // RFC 9112 §6.1: a transfer coding in a response of HTTP/1.0 is faulty.
  undecided('chunks of HTTP/1.0', head(['Transfer-Encoding: chunked'], 'HTTP/1.0 200 OK') + fine),
  sound('chunks with extensions and a trailer', `${begin}c;a;b=c;d="e"\r\n${own}\r\n0;f\r\nA: b\r\n\r\n`, {
    stray: second,
  }),
  sound('a chunk that holds another response', `${begin}${hex(12 + second.length)}\r\n${own}${second}\r\n${last}`, {
    body: own + second,
  }),
]

const early = (status: number, ...lines: readonly string[]): string =>
  [`HTTP/1.1 ${status} Early`, `X-Stray: ${unsolicitedMark}`, ...lines, '', ''].join('\r\n')
const upgrade = ['Upgrade: x', 'Connection: Upgrade']

/** RFC 9112 §4, §5; RFC 9110 §15.2: an interim response has no body, whatever it says. */
const heads: readonly Poison[] = [
  badHead('a first line with CR', started('HTTP/1.1 200 O\rK')),
  badHead('a field with CR', head([`X-A: a\rX-Stray: ${unsolicitedMark}`, ...length]) + own),
  sound('103 before it, and another response behind it', early(103) + started('HTTP/1.1 200 OK'), { stray: second }),
  undecided('103 that says a length', early(103, ...length) + started('HTTP/1.1 200 OK')),
  undecided('100 ten thousand times before it', early(100).repeat(10_000) + started('HTTP/1.1 200 OK')),
  badHead('101 and the response', early(101, ...upgrade) + started('HTTP/1.1 200 OK')),
  undecided('204 with a length and a body', head(length, 'HTTP/1.1 204 No'), {
    ...{ status: 204, body: '', stray: unsolicitedMark },
  }),
  sound('205 with a length and a body', `${head(['Content-Length: 5'], 'HTTP/1.1 205 Reset')}stray`, {
    ...{ status: 205, body: '' },
  }),
  sound('HTTP/1.0 up to the end', head([], 'HTTP/1.0 200 OK') + own, { ends: true }),
  sound('one that says close', head([...length, 'Connection: keep-alive, close']) + own, { stray: second }),
]

/** Responses that are as they should be, in every framing. */
const firsts: readonly Poison[] = [
  sound('a length', said('12') + own),
  sound('chunks', begin + fine),
  sound('204', head([], 'HTTP/1.1 204 No Content'), { status: 204, body: '' }),
  sound('304 with a length', head(length, 'HTTP/1.1 304 Not Modified'), { status: 304, body: '' }),
]

/** Bytes behind the end of a response, or without a request (RFC 9112 §9.2). */
const unsolicited: readonly (readonly [name: string, bytes: string])[] = [
  ['a 200', second],
  ['a hundred of them', second.repeat(100)],
  ['a 200 up to the end of the connection', `HTTP/1.1 200 OK\r\n\r\n${unsolicitedMark}`],
  ['a 408', `HTTP/1.1 408 Request Timeout\r\nX-Stray: ${unsolicitedMark}\r\nContent-Length: 0\r\n\r\n`],
  ['a 100', early(100)],
  ['a 101', `${early(101, ...upgrade)}${unsolicitedMark}`],
  ['half a head', `HTTP/1.1 200 OK\r\nX-Stray: ${unsolicitedMark}`],
  ['the first byte of one', 'H'],
  ['an empty line and a 200', `\r\n${second}`],
  ['NUL', '\0'],
  ['a last chunk', last],
]

const behind = (first: Poison): readonly Poison[] =>
  unsolicited.map(([name, stray]) => ({ ...first, name: `${first.name}, and then ${name}`, stray }))

/** Every framing with everything behind it. */
export const seconds: readonly Poison[] = firsts.flatMap(behind)

/** A length, the usual framing, with everything behind it. */
export const usual: readonly Poison[] = firsts.slice(0, 1).flatMap(behind)

export const all: readonly Poison[] = [...lengths, ...chunks, ...heads, ...seconds]
