const chunked = 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n'

/** Input that the gateway's parser accepts, and llhttp rejects or reads as something else, with the reason. */
export const wider: readonly (readonly [what: string, example: string])[] = [
  ['a target of no form (RFC 9112 §3.2: they are told apart behind the parser)', 'GET a HTTP/1.1\r\n\r\n'],
  ['a tab behind a coding (RFC 9112 §5.1: it is none of the value)', `${chunked.replace('ed\r', 'ed\t\r')}0\r\n\r\n`],
  ['a tab behind a length (as of a coding)', 'POST / HTTP/1.1\r\nContent-Length: 2\t\r\n\r\nok'],
  [
    'Proxy-Connection (RFC 9112 §C.2.2: it is not about the connection)',
    'GET / HTTP/1.1\r\nProxy-Connection: close\r\n\r\n',
  ],
  [
    'both close and keep-alive in HTTP/1.0 (RFC 9112 §9.3: close comes first)',
    'GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n',
  ],
  [
    'close among the trailers (RFC 9110 §6.5.1: they are dropped)',
    `${chunked}0\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
  ],
]

/** Rewrites a head with these features as llhttp reads it, with the same meaning. */
export const mendHead = (head: string): string => {
  const mended = head
    .replace(/^([\r\n]*[A-Z-]+ )(?=[^/* ])/, '$1/')
    .replace(/^((?:content-length|transfer-encoding):[^\r\n]*?)[ \t]+\r$/gim, '$1\r')
    .replace(/^proxy-connection:.*\r\n/gim, '')
  const closes = /^.* HTTP\/1\.0\r/m.test(mended) && /^connection:.*close/im.test(mended)
  return closes ? mended.replace(/^connection:.*\r$/gim, (line) => line.replace(/keep-alive/gi, 'x')) : mended
}

/** Writes a trailer section as llhttp reads it. */
export const mendTrailers = (trailers: string): string => trailers.replace(/^(?:proxy-)?connection(?=:)/gim, 'x')

/** Input that llhttp accepts and the gateway's parser rejects: the reason, the message, and an example. */
export const stricter: readonly (readonly [what: string, says: RegExp, example: string])[] = [
  ['a bare CR in front of a request (RFC 9112 §2.2)', /a bare CR in front/, '\rGET / HTTP/1.1\r\n\r\n'],
  ['a bare LF in front, a method of RTSP, or PRI: it is told at once', /bad-method/, 'SETUP / '],
  ['RTSP and ICE (RFC 9112 §2.3)', /bad-version byte 0x(?:49|52)/, 'GET / RTSP/1.0\r\n\r\n'],
  [
    'several blanks in the request line (RFC 9112 §3: others see another target)',
    /no target|bad-version byte 0x20/,
    'GET  /  HTTP/1.1\r\n\r\n',
  ],
  ['another version, or none (RFC 9112 §2.3)', /^unsupported-version|bad-target byte 0x0a/, 'GET /\r\n\r\n'],
  [
    'another coding at the end, one twice, or any in HTTP/1.0 (RFC 9112 §6.1, §6.3)',
    /bad-transfer-coding/,
    `${chunked.replace('/1.1', '/1.0')}0\r\n\r\n`,
  ],
  [
    'a Content-Length above 2^53 - 1 (RFC 9110 §8.6)',
    /bad-length/,
    'POST / HTTP/1.1\r\nContent-Length: 9007199254740992\r\n\r\n',
  ],
  ['a chunk size above 2^53 - 1 (RFC 9112 §7.1)', /the size is too large/, `${chunked}20000000000000\r\n`],
  ['a coding among the trailers (RFC 9110 §6.5.1)', /among the trailers/, `${chunked}0\r\nTransfer-Encoding:\r\n\r\n`],
  ['an extension without a value, or with several (RFC 9112 §7.1.1)', /in its extension/, `${chunked}0;a=\r\n\r\n`],
  ['a limit on heads, as of the tests', /more than 1200 bytes/, `GET / HTTP/1.1\r\na: ${'b'.repeat(1200)}\r\n\r\n`],
  ['a limit on chunk extensions', /more than 16384 bytes/, `${chunked}0;${'a'.repeat(16 * 1024)}\r\n\r\n`],
]
