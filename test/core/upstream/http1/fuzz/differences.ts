/** A way in which the two parsers differ, and why. */
interface Difference {
  readonly name: string
  readonly why: string
  readonly example: string
}

/**
 * What the gateway's parser accepts and llhttp rejects. `mend` writes a head as llhttp reads it, with the same meaning.
 */
export const wider: readonly (Difference & { mend(head: string): string })[] = [
  {
    name: 'a later minor version',
    why: 'RFC 9110 §2.5: it is read as the highest one that is known',
    example: 'HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nok',
    mend: (head) => head.replace(/^HTTP\/1\.[2-9]/, 'HTTP/1.1'),
  },
  {
    name: 'a tab behind a length',
    why: 'RFC 9112 §5.1: blanks behind a value are none of it, and a tab is one',
    example: 'HTTP/1.1 200 OK\r\nContent-Length: 2\t\r\n\r\nok',
    mend: (head) => head.replace(/^(content-length:[^\r\n]*?)[ \t]+\r$/gim, '$1\r'),
  },
  {
    name: 'a tab behind a coding',
    why: 'RFC 9112 §5.1, as of a length. llhttp takes it for another coding, and the framing for the body',
    example: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n',
    mend: (head) => head.replace(/^(transfer-encoding:[^\r\n]*?)[ \t]+\r$/gim, '$1\r'),
  },
  {
    name: 'a tab behind keep-alive',
    why: 'RFC 9112 §5.1, as of a length',
    example: 'HTTP/1.0 200 OK\r\nConnection: keep-alive\t\r\nContent-Length: 2\r\n\r\nok',
    mend: (head) => head.replace(/^(connection:[^\r\n]*?)[ \t]+\r$/gim, '$1\r'),
  },
  {
    name: 'Proxy-Connection: close',
    why: 'RFC 9112 §C.2.2: what HTTP/1.0 says to proxies ends no connection of HTTP/1.1',
    example: 'HTTP/1.1 200 OK\r\nProxy-Connection: close\r\nContent-Length: 2\r\n\r\nok',
    mend: (head) => head.replace(/^proxy-connection:.*\r\n/gim, ''),
  },
]

/**
 * What llhttp accepts and the gateway's parser rejects, with the words in which it does. Where these leave open which
 * fault it is, `mend` takes it out: then the two have to agree.
 */
export const stricter: readonly (Difference & { readonly says: string; mend?(head: string): string })[] = [
  {
    name: 'line ends before a status line',
    why: 'RFC 9112 §2.2 has servers skip them before a request. Before a response they are a rest of something else',
    example: '\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    says: 'no status line of HTTP/1',
    mend: (head) => head.replace(/^[\r\n]+/, ''),
  },
  {
    name: 'RTSP and ICE',
    why: 'RFC 9112 §2.3: the name of the protocol is HTTP',
    example: 'RTSP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
    says: 'no status line of HTTP/1',
    mend: (head) => head.replace(/^(RTSP|ICE)(?=\/)/, 'HTTP').replace(/^(R|RT|RTS|RTSP|I|IC|ICE)$/, 'H'),
  },
  {
    name: 'HTTP/2.0 and HTTP/0.9',
    why: 'RFC 9112 §2.3: another major version has another form. (llhttp rejects other versions at their last digit)',
    example: 'HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
    says: 'no status line of HTTP/1',
    mend: (head) => head.replace(/^HTTP\/(?:2\.0|0\.9)/, 'HTTP/1.1').replace(/^HTTP\/\d(\.?)$/, 'HTTP/1$1'),
  },
  {
    name: 'a status below 100',
    why: 'RFC 9110 §15',
    example: 'HTTP/1.1 099 A\r\nContent-Length: 2\r\n\r\nok',
    says: 'a status below 100',
  },
  {
    name: 'a switch of protocols',
    why: 'RFC 9110 §15.2.2: the gateway asks for none',
    example: 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    says: 'a switch of protocols that was not asked for',
  },
  {
    name: 'a control character in a reason phrase',
    why: 'RFC 9112 §4: HTAB, SP, VCHAR and obs-text stand in it',
    example: 'HTTP/1.1 200 \x1b[1m\r\nContent-Length: 2\r\n\r\nok',
    says: 'in a reason phrase of the head',
    mend: (head) => head.replace(/^HTTP[^\r\n]*/, (line) => line.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')),
  },
  {
    name: 'two CRs behind a reason phrase',
    why: 'RFC 9112 §2.2: a line ends with CR LF',
    example: 'HTTP/1.1 200 OK\r\rContent-Length: 2\r\n\r\nok',
    says: 'byte 0x0d in a line end of the head',
    mend: (head) => head.replace(/^(HTTP[^\r\n]*)\r\r/, '$1\r\n'),
  },
  {
    name: 'another coding, several, or one in HTTP/1.0',
    why: 'RFC 9112 §6.1, §7: the body would be handed on with the coding still in it, and nothing would say so',
    example: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    says: 'a transfer coding other than chunked, once',
  },
  {
    name: 'a length beyond counting',
    why: 'RFC 9110 §8.6: 2^53 - 1 is the most that can be counted exactly',
    example: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9007199254740992\r\n\r\n',
    says: 'a length beyond counting',
  },
  {
    name: 'a size beyond counting',
    why: 'RFC 9112 §7.1: as of a length',
    example: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20000000000000\r\n',
    says: 'a size beyond counting',
  },
  {
    name: 'an extension without a value, or with more than one',
    why: 'RFC 9112 §7.1.1',
    example: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0;a=\r\n\r\n',
    says: 'in its extension',
  },
  {
    name: 'a coding among the trailers',
    why: 'RFC 9110 §6.5.1: framing is settled before the body',
    example: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n',
    says: 'a length or a coding among the trailers',
  },
  {
    name: 'more than 10100 fields',
    why: 'a limit of the gateway',
    example: `HTTP/1.1 204 No Content\r\n${'a: b\r\n'.repeat(10_101)}\r\n`,
    says: 'more than 10100 fields',
  },
  {
    name: 'more than 64 KiB of head',
    why: 'a limit of the gateway',
    example: `HTTP/1.1 204 No Content\r\na: ${'b'.repeat(64 * 1024)}\r\n\r\n`,
    says: 'more than 65536 bytes',
  },
  {
    name: 'more than 16 KiB of chunk extensions',
    why: 'a limit of the gateway',
    example: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0;${'a'.repeat(16 * 1024)}\r\n\r\n`,
    says: 'more than 16384 bytes',
  },
]
