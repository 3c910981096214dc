// Strings are latin1, a byte a character.
const ok = 'Content-Length: 2\r\n\r\nok'
const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

/** What the gateway's parser accepts and llhttp rejects, and why. */
export const wider: readonly (readonly [what: string, example: string])[] = [
  ['a later minor version (RFC 9110 §2.5: the highest one that is known)', `HTTP/1.2 200 OK\r\n${ok}`],
  ['a tab behind a length (RFC 9112 §5.1: it is none of the value)', `HTTP/1.1 200 OK\r\n${ok.replace('2', '2\t')}`],
  ['a tab behind a coding (as of a length)', `${chunked.replace('chunked', 'chunked\t')}0\r\n\r\n`],
  ['a tab behind keep-alive (as of a length)', `HTTP/1.0 200 OK\r\nConnection: keep-alive\t\r\n${ok}`],
  [
    'Proxy-Connection: close (RFC 9112 §C.2.2: it is not about the connection)',
    `HTTP/1.1 200 OK\r\nProxy-Connection: close\r\n${ok}`,
  ],
]

/** Writes a head with any of these as llhttp reads it, with the same meaning. */
export const mend = (head: string): string =>
  head
    .replace(/^HTTP\/1\.[2-9]/, 'HTTP/1.1')
    .replace(/^((?:content-length|transfer-encoding|connection):[^\r\n]*?)[ \t]+\r$/gim, '$1\r')
    .replace(/^proxy-connection:.*\r\n/gim, '')

const noStatusLine = 'no status line of HTTP/1'

/** What llhttp accepts and the gateway's parser rejects: why, the words in which it does, and an example. */
export const stricter: readonly (readonly [what: string, says: string, example: string])[] = [
  ['line ends before a status line (RFC 9112 §2.2: a server skips them)', noStatusLine, `\r\nHTTP/1.1 200 OK\r\n${ok}`],
  ['RTSP and ICE (RFC 9112 §2.3)', noStatusLine, `RTSP/1.0 200 OK\r\n${ok}`],
  ['HTTP/2.0 and HTTP/0.9 (RFC 9112 §2.3: they have another form)', noStatusLine, `HTTP/2.0 200 OK\r\n${ok}`],
  ['a status below 100 (RFC 9110 §15)', 'a status below 100', `HTTP/1.1 099 A\r\n${ok}`],
  ['a switch of protocols (RFC 9110 §15.2.2)', 'a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['a control character in a reason phrase (RFC 9112 §4)', 'in a reason phrase', `HTTP/1.1 200 \x1b[1m\r\n${ok}`],
  ['two CRs behind it (RFC 9112 §2.2)', 'byte 0x0d in a line end of the head', `HTTP/1.1 200 OK\r\r${ok}`],
  [
    'another coding, several, or one in HTTP/1.0 (RFC 9112 §6.1, §7: it would stay in the body)',
    'a Transfer-Encoding other than one chunked',
    `${chunked.replace('chunked', 'gzip, chunked')}0\r\n\r\n`,
  ],
  [
    'a Content-Length above 2^53 - 1 (RFC 9110 §8.6)',
    'a length above 2^53 - 1',
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 9007199254740992\r\n\r\n',
  ],
  ['a chunk size above 2^53 - 1 (RFC 9112 §7.1)', 'the size is too large', `${chunked}20000000000000\r\n`],
  ['an extension without a value, or with several (RFC 9112 §7.1.1)', 'in its extension', `${chunked}0;a=\r\n\r\n`],
  [
    'a coding among the trailers (RFC 9110 §6.5.1)',
    'a framing field among the trailers',
    `${chunked}0\r\nTransfer-Encoding: chunked\r\n\r\n`,
  ],
  ['a limit on fields', 'more than 10100 fields', `HTTP/1.1 204 No Content\r\n${'a: b\r\n'.repeat(10_101)}\r\n`],
  ['a limit on heads', 'more than 65536 bytes', `HTTP/1.1 204 No Content\r\na: ${'b'.repeat(64 * 1024)}\r\n\r\n`],
  ['a limit on chunk extensions', 'more than 16384 bytes', `${chunked}0;${'a'.repeat(16 * 1024)}\r\n\r\n`],
]
