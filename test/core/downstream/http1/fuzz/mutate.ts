import { METHODS } from 'node:http'
import { corpus, mutation } from '../../../upstream/http1/fuzz/mutate.ts'

// Strings are latin1, a byte a character.
const targets = ['/', '/a/b?c=d&e', '*', 'http://a:80/b', '/%2e%2E/', '//', '/?"<>\\^`{|}', '/#', "/~!$&'()*+,;=:@[]"]
const goodLines = [
  ...['GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'].flatMap((method) =>
    targets.map((target) => `${method} ${target} HTTP/1.1`),
  ),
  ...METHODS.map((method) => `${method} / HTTP/1.1`),
  'CONNECT a:443 HTTP/1.1',
]
const blanks = '|  |\t| \t|\x0b|\xa0|\r|\n|\r\n|\r\n |\0|+|%20'.split('|')
const methods = [
  ...'get|Get|GE|GETT|GET\0||X|PRI|POSTS|M-|M-SEARCHX|G\xc9T|GET:|"GET"|\x16\x03|DESCRIBE|ANNOUNCE|SETUP'.split('|'),
  ...'PLAY|PAUSE|TEARDOWN|RECORD|FLUSH|GET_PARAMETER|REDIRECT'.split('|'),
]
const oddTargets = [
  ...'|\t|/\t|/\0|/\x01|/\x7f|/\x80|/\xc3\xa9|/\xff|\xe9|a|?|#|http|http:|http:/|http://|http://a'.split('|'),
  ...'http://u:p@a/|http://[::1]:1/|ftp://a|/\r|/\n|/\x0b|/ /|[::1]:443|:1'.split('|'),
  `/${'a'.repeat(300)}`,
]
const versions = [
  ...'HTTP/1.0|HTTP/1.0|HTTP/1.0|HTTP/0.9|HTTP/1.2|HTTP/2.0|HTTP/3.0|HTTP/1.10|HTTP/01.1|HTTP/1|HTTP/1.'.split('|'),
  ...'HTTP/11|HTTP/1,1|HTTP/x.1|HTTP/-1.1|http/1.1|HTTPS/1.1|HTTP 1.1|HTTP /1.1||HTTP|RTSP/1.0|ICE/1.0'.split('|'),
  ...'HTTP/1.1 |HTTP/1.1\t|HTTP/1.1\0|HTTP/1.1 x|HTTP/1.1;|HTTP/\xb9.1'.split('|'),
]
const fronts = '|\r\n|\r\n\r\n|\n|\r|\r\r\n| |\t|\0|\xef\xbb\xbf|\r\n '.split('|')
const odd = '\r\n\0\t :;,"\\/.HTPG019\x01\x0b\x1f\x7f\x80\xff'
const fields = [
  ...['Host: a', 'Host: a:80', 'Expect: 100-continue', 'Expect: x', 'Content-Type: a/b', 'Connection: close'],
  ...['Upgrade: h2c', 'Connection: Upgrade\r\nUpgrade: a', 'Connection: keep-alive', 'Proxy-Connection: keep-alive'],
]

type Draw = ReturnType<typeof mutation>['draw']
const one = <T>(draw: Draw, of: ArrayLike<T>): T => of[draw(of.length)] as T

const lineMutations: readonly ((draw: Draw, line: string) => string)[] = [
  (draw, line) => line.replace(/ /, () => one(draw, blanks)),
  (draw, line) => line.replace(/ (?=HTTP)/, () => one(draw, blanks)),
  (draw, line) => line.replace(/^\S*/, () => one(draw, methods)),
  (draw, line) => line.replace(/(?<= )\S*/, () => one(draw, oddTargets)),
  (draw, line) => line.replace(/(?<= )HTTP.*/s, () => one(draw, versions)),
  (draw, line) => one(draw, fronts) + line,
  (draw, line) => {
    const at = draw(line.length + 1)
    return line.slice(0, at) + (draw(3) > 0 ? one(draw, odd) : '') + line.slice(at + draw(2))
  },
  (draw, line) => line.slice(0, draw(line.length + 1)),
]

/** Draws a request line, usually valid; sometimes a field follows. */
const drawLine = (draw: Draw): string => {
  let line = one(draw, draw(3) === 0 ? goodLines.slice(0, 1) : goodLines)
  if (draw(10) === 0) line = line.replace(/1$/, '0')
  if (draw(8) === 0) for (let left = 1 + draw(2); left > 0; left--) line = one(draw, lineMutations)(draw, line)
  return draw(3) === 0 ? `${line}\r\n${one(draw, fields)}` : line
}

// Several requests come in one piece, so the pattern finds the status lines of all responses, interim ones too.
const statusLines = /^(?![A-Z]+ )[^\r\n]+|HTTP\/\d\.\d \d{3}(?: [^\r\n]*)?/g

/**
 * Creates the n-th sequence of faulty requests: the n-th mutated response, with request lines in place of status lines.
 * Fields, lengths, chunks and bodies have the same form in both.
 */
export const requestMutation = (n: number): ReturnType<typeof mutation> => {
  const { bytes, draw } = mutation(n)
  const more = draw(4) === 0 ? one(draw, corpus) : ''
  const text = (bytes.toString('latin1') + more).replace(statusLines, () => drawLine(draw))
  return { bytes: Buffer.from(text, 'latin1'), draw }
}
