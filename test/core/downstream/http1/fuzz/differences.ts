/** A way in which the two parsers differ, and why. */
interface Difference {
  readonly name: string
  readonly why: string
  readonly example: string
}

/**
 * What the gateway's parser accepts and llhttp rejects, or takes for something else. `mend` writes a head, or a trailer
 * section, as llhttp reads it, with the same meaning.
 */
export const wider: readonly (Difference & { mend(part: string): string; readonly isInTrailers?: boolean })[] = [
  {
    name: 'a target of no form',
    why: 'RFC 9112 §3.2: the forms are told apart behind the parser, with the path',
    example: 'GET a HTTP/1.1\r\n\r\n',
    mend: (head) => head.replace(/^([\r\n]*[A-Z-]+ )(?=[^/* ])/, '$1/'),
  },
  {
    name: 'a tab behind a coding',
    why: 'RFC 9112 §5.1: blanks behind a value are none of it, and a tab is one. llhttp takes it for another coding',
    example: 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n',
    mend: (head) => head.replace(/^(transfer-encoding:[^\r\n]*?)[ \t]+\r$/gim, '$1\r'),
  },
  {
    name: 'Proxy-Connection',
    why: 'RFC 9112 §C.2.2: what HTTP/1.0 says to proxies is not about the connection',
    example: 'GET / HTTP/1.1\r\nProxy-Connection: close\r\n\r\n',
    mend: (head) => head.replace(/^proxy-connection:.*\r\n/gim, ''),
  },
  {
    name: 'both close and keep-alive in HTTP/1.0',
    why: 'RFC 9112 §9.3: close comes first',
    example: 'GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n',
    mend: (head) =>
      /^.* HTTP\/1\.0\r/m.test(head) && /^connection:.*close/im.test(head)
        ? head.replace(/^connection:.*\r$/gim, (line) => line.replace(/keep-alive/gi, 'x'))
        : head,
  },
  {
    name: 'close among the trailers',
    why: 'RFC 9110 §6.5.1: what is about the connection stands in the head. Trailers are dropped',
    example:
      'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n',
    mend: (trailers) => trailers.replace(/^(?:proxy-)?connection(?=:)/gim, 'x'),
    isInTrailers: true,
  },
]

/**
 * What llhttp accepts and the gateway's parser rejects, with the kind, the reason and the words in which it does. Where
 * these leave open which fault it is, `mend` takes it out: then the two have to agree.
 */
export const stricter: readonly (Difference & { readonly says: RegExp; mend?(head: string): string })[] = [
  {
    name: 'a bare CR or LF in front of a request',
    why: 'RFC 9112 §2.2: an empty line ends with CR LF, as any other',
    example: '\n\rGET / HTTP/1.1\r\n\r\n',
    says: /bad-method|a bare CR in front/,
    mend: (head) => head.replace(/^[\r\n]+/, ''),
  },
  {
    name: 'a method of RTSP, or PRI',
    why: 'it is told at once, and not behind the target, where the protocol stands',
    example: 'SETUP / ',
    says: /bad-method/,
    mend: (head) => head.replace(/^([\r\n]*)[A-Z_]+/, '$1GET'),
  },
  {
    name: 'RTSP and ICE',
    why: 'RFC 9112 §2.3: the name of the protocol is HTTP',
    example: 'GET / RTSP/1.0\r\n\r\n',
    says: /bad-version byte 0x(?:49|52)/,
    mend: (head) => head.replace(/(?<= )(?:RTSP|ICE)(?=\/)/, 'HTTP').replace(/(?<= )(?:R|RT|RTS|RTSP|I|IC|ICE)$/, 'H'),
  },
  {
    name: 'several blanks in the request line',
    why: 'RFC 9112 §3: there is one. Who takes more of them has other ideas of where the target ends',
    example: 'GET  /  HTTP/1.1\r\n\r\n',
    says: /no target|bad-version byte 0x20/,
    mend: (head) => head.replace(/^[^\r\n]+/m, (line) => line.replace(/ +/g, ' ')),
  },
  {
    name: 'another version, or none',
    why: 'RFC 9112 §2.3: another major version has another form. (llhttp rejects other versions at their last digit)',
    example: 'GET /\r\n\r\n',
    says: /^unsupported-version|bad-target byte 0x0a/,
  },
  {
    name: 'another coding at the end, one twice, or any in HTTP/1.0',
    why: 'RFC 9112 §6.1, §6.3: nothing says where the body ends, or it would be read in two ways',
    example: 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    says: /bad-transfer-coding/,
  },
  {
    name: 'a length beyond counting',
    why: 'RFC 9110 §8.6: 2^53 - 1 is the most that can be counted exactly',
    example: 'POST / HTTP/1.1\r\nContent-Length: 9007199254740992\r\n\r\n',
    says: /bad-length/,
    mend: (head) => head.replace(/^(content-length:\s*)\d{16,}/gim, '$11'),
  },
  {
    name: 'a size beyond counting',
    why: 'RFC 9112 §7.1: as of a length',
    example: 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n20000000000000\r\n',
    says: /a size beyond counting/,
  },
  {
    name: 'an extension without a value, or with more than one',
    why: 'RFC 9112 §7.1.1',
    example: 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0;a=\r\n\r\n',
    says: /in its extension/,
  },
  {
    name: 'more than 1200 bytes of head',
    why: 'a limit of the gateway: as of the tests',
    example: `GET / HTTP/1.1\r\na: ${'b'.repeat(1200)}\r\n\r\n`,
    says: /more than 1200 bytes/,
  },
  {
    name: 'more than 16 KiB of chunk extensions',
    why: 'a limit of the gateway',
    example: `POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0;${'a'.repeat(16 * 1024)}\r\n\r\n`,
    says: /more than 16384 bytes/,
  },
]
