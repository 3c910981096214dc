/** Makes numbers from a seed, always the same ones (mulberry32). */
export const random = (seed: number): ((below: number) => number) => {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

// Strings are latin1, a byte a character.
const date = 'Date: Sun, 22 Nov 2026 15:43:12 GMT\r\n'
const length = (body: string, status = '200 OK'): string =>
  `HTTP/1.1 ${status}\r\n${date}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const chunked = (body: string): string => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${date}\r\n${body}`

/** Responses without a fault. */
export const corpus: readonly string[] = [
  length('{"ok":true}'),
  length(''),
  length('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx'),
  length('0\r\n\r\n', '404 Not Found'),
  length('a\r\n\0\xff', '500 Internal Server Error'),
  length('odd', '999 \xe9'),
  'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 200 \r\ncontent-length:2 \r\n\r\nok',
  'HTTP/1.1 200 OK\r\nA:\r\nB: \t \r\nC:  "x, \xe9"; q=0.1\t\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5, max=100\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nConnection: X-A, close\r\nX-A: 1\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.0 200 OK\r\nServer: SimpleHTTP/0.6 Python/3.11.2\r\n\r\nto the end',
  'HTTP/1.1 200 OK\r\n\r\nto the end\r\n\r\nof the connection',
  'HTTP/1.9 200 OK\r\nContent-Length: 2\r\n\r\nok',
  chunked('2\r\nok\r\n0\r\n\r\n'),
  chunked('0\r\n\r\n'),
  chunked('00a\r\n0123456789\r\nA\r\n0123456789\r\n1\r\n\n\r\n0\r\n\r\n'),
  chunked('2;a\r\nok\r\n1;b=c;d="e \\"\\\\"\r\n!\r\n0;f=g\r\n\r\n'),
  chunked('2\r\nok\r\n0\r\nExpires: 0\r\nX-Sum: "a"\r\n\r\n'),
  chunked('5\r\n0\r\n\r\n\r\n0\r\n\r\n'),
  'HTTP/1.1 200 OK\r\ntransfer-encoding:CHUNKED \r\nConnection: close\r\nTrailer: A\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n',
  'HTTP/1.1 204 No Content\r\nServer: a\r\n\r\n',
  'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 5\r\n\r\n',
  'HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n',
  `HTTP/1.1 100 Continue\r\n\r\n${length('ok')}`,
  `HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${chunked('2\r\nok\r\n0\r\n\r\n')}`,
  `HTTP/1.1 103 Early Hints\r\nContent-Length: 3\r\n\r\n${length('', '204 No Content').replace(/Content-Length.*\r\n/, '')}`,
]

const bytes = [
  ...'\r\n\0\t :;,"\\=+-_.()/@09aAfFgxX~^`|\x01\x0b\x0c\x1f\x7f\x80\x85\xa0\xe9\xff'.split(''),
  ...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)),
]
const lineEnds = '\n|\r|\r\r\n|\n\r|\r\n\r\n|\r\n |\r\n\t|| \r\n|\0\r\n|\r\0\n|\r\n:|\x85'.split('|')
const numbers = [
  ...'|0|1|2|3|00|0002|5|a|A|ff|ffffffffffffffff|20000000000000|1fffffffffffff|9007199254740991'.split('|'),
  ...'9007199254740992|4294967298|18446744073709551618|-1|+2|0x2|2 |2\t|2\x0b|2,2|2, 2|2;|2;a|2 ;a|2; a'.split('|'),
  ...'2;a=|2;a="|2;a=b=c|2;a\x01|2e0|2_0|\xb2'.split('|'),
]
const codings = 'chunked|CHUNKED |chunked\t|gzip|gzip, chunked|chunked, gzip|chunked, chunked||chunked;a'.split('|')
const options = 'close|keep-alive|Close, a|upgrade|keep-alive, close|content-length|close\xa0|'.split('|')
const lines = [
  ...'|:|a|a b|a : b| a: b|\ta: b|a\x0b: b|\xe9: a|a: \x01|a: \x7f|(a): b|\0|2\r\nok|0|0\r\n|HTTP/1.1 200 OK'.split(
    '|',
  ),
  ...'2|2,2|| 2 |2\t|3|+1|2\x0b|2 2'.split('|').map((value) => `Content-Length: ${value}`),
  ...codings.map((value) => `Transfer-Encoding: ${value}`),
  ...options.map((value) => `Connection: ${value}`),
  ...['Proxy-Connection: close', 'Keep-Alive: timeout=1', 'Upgrade: websocket', 'Trailer: a', 'X-A: 1', 'ETag: "a"'],
  ...['Content_Length: 2', 'Content-Length : 2', 'Transfer-Encoding : chunked', 'Transfer-Encoding\0: chunked'],
  ...['a: b\r\n'.repeat(201).trimEnd(), 'GET / HTTP/1.1'],
]
const trailers = lines.map((line) => `${line}\r\n`)
const extensions = [
  ...['', ' ', '\t', ';', ';;', '; a', ' ;a', ';a ', ';a', ';a=', ';=', ';a=b', ';a =b', ';a= b', ';a=b;c;d=e', ';a\0'],
  ...[';a=""', ';a="', ';a="b"c', ';a=b"c"', ';a="b" ', ';a="\\""', ';a="\\', ';a="\x7f"', ';a="\t\xe9"', ';(a)', '@'],
  `;${'a'.repeat(300)}`,
]
const starts = [
  ...'HTTP/1.1 200|HTTP/1.1 200 |HTTP/1.1 200  |HTTP/1.1 200\tOK|HTTP/1.1 20 OK|HTTP/1.1 2000 OK'.split('|'),
  ...'HTTP/1.1 099 OK|HTTP/1.0 100 Continue|HTTP/1.1 101 Switching|HTTP/1.1 103 Early|HTTP/1.1 204 A'.split('|'),
  ...'HTTP/1.1 205 A|HTTP/1.1 304 A|HTTP/1.1  200 OK|HTTP/1.1 200 \0|HTTP/1.1 200 \xff|HTTP/1.0 200 OK'.split('|'),
  ...'HTTP/1.2 200 OK|HTTP/2.0 200 OK|HTTP/1.10 200 OK|HTTP/1 200 OK|http/1.1 200 OK|HTTPS/1.1 200 OK'.split('|'),
  ...'ICY 200 OK|RTSP/1.0 200 OK| HTTP/1.1 200 OK|\r\nHTTP/1.1 200 OK|HTTP/1.1200 OK'.split('|'),
]

type Draw = ReturnType<typeof random>
const one = <T>(draw: Draw, of: readonly T[]): T => of[draw(of.length)] as T

/** Cuts out, and puts in. */
const splice = (text: string, at: number, taken: number, put = ''): string =>
  text.slice(0, at) + put + text.slice(at + taken)

/** Draws a place to change: anywhere, or beside a separator. */
const place = (draw: Draw, text: string): number => {
  if (draw(2) === 0) return draw(text.length + 1)
  const marks = [...text.matchAll(/[\r\n:; ,]/g)].map(({ index }) => index)
  return marks.length === 0 ? 0 : Math.min(one(draw, marks) + draw(3), text.length)
}

/** Finds all matches, and puts something else in place of one of them. */
const replaceOne = (draw: Draw, text: string, pattern: RegExp, puts: readonly string[]): string => {
  const found = [...text.matchAll(pattern)]
  if (found.length === 0) return text
  const { index, 0: taken } = one(draw, found)
  return splice(text, index, taken.length, one(draw, puts))
}

const changeLines = (draw: Draw, text: string, change: (lines: string[], at: number) => void): string => {
  const all = text.split('\r\n')
  change(all, draw(all.length))
  return all.join('\r\n')
}

const changes: readonly ((draw: Draw, text: string) => string)[] = [
  (draw, text) => splice(text, place(draw, text), 1, one(draw, bytes)),
  (draw, text) => splice(text, place(draw, text), 0, one(draw, bytes)),
  (draw, text) => splice(text, place(draw, text), 1 + draw(3)),
  (draw, text) => replaceOne(draw, text, /\r\n/g, lineEnds),
  (draw, text) => replaceOne(draw, text, /\b[0-9a-fA-F]+\b/g, numbers),
  (draw, text) => replaceOne(draw, text, /(?<=^|\r\n)[0-9a-fA-F]+(?=[\r;])/g, numbers),
  (draw, text) => replaceOne(draw, text, /(?<=\r\n[0-9a-fA-F]+)(?=[\r;])/g, extensions),
  (draw, text) => replaceOne(draw, text, /(?<=\r\n0+[^\r]*\r\n)/g, trailers),
  (draw, text) => replaceOne(draw, text, /(?<=content-length:\s*)\d+/gi, numbers),
  (draw, text) => replaceOne(draw, text, /^[^\r\n]*/g, starts),
  (draw, text) => changeLines(draw, text, (all, at) => all.splice(at, 0, all[at] ?? '')), // doubled
  (draw, text) => changeLines(draw, text, (all, at) => all.splice(at, 1)),
  (draw, text) => changeLines(draw, text, (all, at) => all.splice(draw(all.length), 0, ...all.splice(at, 1))), // moved
  (draw, text) => changeLines(draw, text, (all, at) => all.splice(at, 0, one(draw, lines))),
  (draw, text) => splice(text, text.indexOf('\r\n') + 2, 0, `${one(draw, lines)}\r\n`),
  (draw, text) => text + one(draw, corpus),
  (draw, text) => splice(text, place(draw, text), 0, one(draw, corpus).split('\r\n\r\n')[0]),
  (draw, text) => text.slice(0, place(draw, text)),
  (draw, text) => replaceOne(draw, text, /[A-Za-z]{3,}/g, ['a', 'A', 'Chunked', 'close', 'HTTP', '']),
]

/** Creates the n-th response with faults, always the same one. Now and then the faults do no harm. */
export const mutation = (n: number): { readonly bytes: Buffer; readonly draw: Draw } => {
  const draw = random(n)
  let text = one(draw, corpus)
  for (let left = 1 + draw(3); left > 0; left--) text = one(draw, changes)(draw, text)
  return { bytes: Buffer.from(text, 'latin1'), draw }
}
