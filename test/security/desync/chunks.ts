import { badBody, badHead, head, own, type Poison, second, sound, undecided, unsolicitedMark } from './poison.ts'

const coded = (coding: string, name = 'Transfer-Encoding'): string => head([`${name}: ${coding}`])
const begin = coded('chunked')
const last = '0\r\n\r\n'
const sized = (size: string): string => `${begin}${size}\r\n${own}\r\n${last}`

/** Sizes that are not `1*HEXDIG` (RFC 9112 §7.1), before twelve bytes. */
const malformed: readonly (readonly [name: string, size: string])[] = [
  ['a plus', '+c'],
  ['a minus', '-c'],
  ['a minus and nought', '-0'],
  ['a plus and nought', '+0'],
  ['0x', '0xc'],
  ['0X and capitals', '0XC'],
  ['0x and nought', '0x0'],
  ['a blank before it', ' c'],
  ['a tab before it', '\tc'],
  ['a blank within', '0 c'],
  ['no number', 'g'],
  ['a number and then none', 'cg'],
  ['nothing', ''],
  ['nothing but a blank', ' '],
  ['nothing but an extension', ';a=b'],
  ['quotes', '"c"'],
  ['a fraction', 'c.0'],
  ['a list', 'c,c'],
  ['an underscore', '0_c'],
  ['a control character', 'c\x01'],
  ['NUL', 'c\0'],
  ['a vertical tab', 'c\x0b'],
  ['a no-break space', 'c\xa0'],
  ['digits beyond ASCII', '\xb9\xb2'],
  ['a bare CR', 'c\r'],
  ['a bare CR and more', 'c\r0'],
  ['2^64 + 12', '1000000000000000c'],
  ['2^68 + 12', '10000000000000000c'],
  ['2^128 + 12', '10000000000000000000000000000000c'],
  ['a thousand digits', 'f'.repeat(1000)],
  ['an extension with a bare CR', 'c;a=\rb'],
  ['an extension with NUL', 'c;a=\0'],
  ['an extension with a control character', 'c;a=\x01'],
]

/** Chunks that are longer, shorter or differently delimited than their size says. */
const wrongChunks: readonly Poison[] = [
  badBody('a chunk that is a byte longer than said', `${begin}b\r\n${own}\r\n${last}`),
  badBody('a chunk that is a byte shorter than said', `${begin}d\r\n${own}\r\n${last}`, { body: `${own}\r` }),
  badBody('a chunk that another response fills up', `${begin}20\r\n${own}\r\n${last}${second}`, {
    body: `${own}\r\n${last}${second}`.slice(0, 0x20),
  }),
  badBody('a chunk of which the end is missing', `${begin}c\r\n${own}${last}`),
  badBody('a chunk that ends with LF', `${begin}c\r\n${own}\n${last}`),
  badBody('a chunk that ends with CR', `${begin}c\r\n${own}\r${last}`),
  badBody('a chunk that ends with CR and more', `${begin}c\r\n${own}\rx${last}`),
  badBody('a chunk that ends with two blanks', `${begin}c\r\n${own}  ${last}`),
  badBody('a chunk that ends with LF and CR', `${begin}c\r\n${own}\n\r${last}`),
  badBody('a size that ends with LF', `${begin}c\n${own}\r\n${last}`),
  badBody('a last size that ends with LF', `${begin}c\r\n${own}\r\n0\n\r\n`),
  badBody('an extension that ends with LF', `${begin}c;a=b\n${own}\r\n${last}`),
  badBody('an extension in quotes that ends with CRLF', `${begin}c;a="\r\n${own}"\r\n${last}`),
  badBody('a size of -1 in 64 bits', `${begin}ffffffffffffffff\r\n${own}`, { ends: true }),
  badBody('a size of 2^63', `${begin}8000000000000000\r\n${own}`, { ends: true }),
  badBody('a size of 2^53 + 12', `${begin}2000000000000c\r\n${own}`, { ends: true }),
  badBody('a size of 2^32 + 12', `${begin}10000000c\r\n${own}`, { ends: true }),
  badBody('chunks without a last one', `${begin}c\r\n${own}\r\n`, { ends: true }),
  badBody('chunks without a last one, and another response', `${begin}c\r\n${own}\r\n${second}`),
  badBody('a last chunk without its end', `${begin}c\r\n${own}\r\n0\r\n`, { ends: true }),
  badBody('a last chunk without its end, and another response', `${begin}c\r\n${own}\r\n0\r\n${second}`),
  badBody('a last chunk of which the line is not over', `${begin}c\r\n${own}\r\n0`, { ends: true }),
  badBody('a last chunk that is missing where a blank line stands', `${begin}c\r\n${own}\r\n\r\n${second}`),
  badBody('bytes that are no chunks', `${begin}${second}`),
  badBody('chunks that are not there, and the end', begin, { ends: true }),
]

/** Trailers that are none (RFC 9112 §7.1.2). */
const trailers: readonly Poison[] = [
  badBody('a trailer that says a length', `${begin}c\r\n${own}\r\n0\r\nContent-Length: 5\r\n\r\n`),
  badBody('a trailer that says chunks', `${begin}c\r\n${own}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n`),
  sound('a trailer of another name', `${begin}c\r\n${own}\r\n0\r\nContent_Length: 5\r\n\r\n`, { stray: second }),
  badBody('a trailer with a blank before its colon', `${begin}c\r\n${own}\r\n0\r\nX-A : b\r\n\r\n`),
  badBody('a trailer without a colon', `${begin}c\r\n${own}\r\n0\r\n${unsolicitedMark}\r\n\r\n`),
  badBody('a trailer that is folded', `${begin}c\r\n${own}\r\n0\r\nX-A: b\r\n c\r\n\r\n`),
  badBody('a trailer that ends with LF', `${begin}c\r\n${own}\r\n0\r\nX-A: b\n\r\n`),
  badBody('a trailer with a bare CR', `${begin}c\r\n${own}\r\n0\r\nX-A: b\rc\r\n\r\n`),
  badBody('a trailer with NUL', `${begin}c\r\n${own}\r\n0\r\nX-A: \0\r\n\r\n`),
  badBody('trailers of 100 KB', `${begin}c\r\n${own}\r\n0\r\n${`X-A: ${'b'.repeat(1000)}\r\n`.repeat(100)}\r\n`),
]

/** Codings that are not `chunked` alone (RFC 9112 §6.1, §6.3), before chunks. */
const codings: readonly (readonly [name: string, value: string])[] = [
  ['chunked twice', 'chunked, chunked'],
  ['gzip and chunked', 'gzip, chunked'],
  ['chunked and gzip', 'chunked, gzip'],
  ['chunked and identity', 'chunked, identity'],
  ['identity', 'identity'],
  ['gzip', 'gzip'],
  ['nothing', ''],
  ['a list of nothing and chunked', ', chunked'],
  ['chunked with a parameter', 'chunked;q=1'],
  ['chunked in quotes', '"chunked"'],
  ['chunked and a vertical tab', 'chunked\x0b'],
  ['a no-break space and chunked', '\xa0chunked'],
  ['chunked and NUL', 'chunked\0'],
  ['what begins with chunked', 'chunkedx'],
  ['what ends with chunked', 'xchunked'],
  ['chunk', 'chunk'],
  ['chunked in a folded line', '\r\n chunked'],
]

const fine = `c\r\n${own}\r\n${last}`

const wrongFields: readonly Poison[] = [
  badHead('two codings, chunked twice', head(['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']) + fine),
  badHead('two codings, chunked last', head(['Transfer-Encoding: gzip', 'Transfer-Encoding: chunked']) + fine),
  badHead('two codings, chunked first', head(['Transfer-Encoding: chunked', 'Transfer-Encoding: gzip']) + fine),
  badHead('a blank before the colon of a coding', coded('chunked', 'Transfer-Encoding ') + fine + second),
  // RFC 9112 §6.1: framing of a response of HTTP/1.0 with a coding is faulty.
  undecided('chunks of HTTP/1.0', head(['Transfer-Encoding: chunked'], 'HTTP/1.0 200 OK') + fine),
  sound('chunks in capitals', coded('CHUNKED') + fine),
  sound('chunks of which the sizes have noughts before them', `${begin}0000000c\r\n${own}\r\n00000\r\n\r\n`),
  sound('chunks of which the sizes are capitals', `${begin}C\r\n${own}\r\n${last}`),
  sound('chunks with extensions', `${begin}c;a;b=c;d="e"\r\n${own}\r\n0;f\r\n\r\n`, { stray: second }),
  sound('chunks of one byte', `${begin}${[...'whole'].map((c) => `1\r\n${c}\r\n`).join('')}${last}`, {
    body: 'whole',
    stray: second,
  }),
  sound(
    'a chunk that holds another response',
    `${begin}${(12 + second.length).toString(16)}\r\n${own}${second}\r\n${last}`,
    {
      body: own + second,
    },
  ),
  undecided('chunks with a blank behind the size', sized('c ')),
  undecided('chunks with a tab behind the size', sized('c\t')),
  undecided('chunks with a blank before the extension', sized('c ;a=b')),
  undecided('chunks with an extension without a name', sized('c;')),
  undecided('chunks with an extension in open quotes', sized('c;a="b')),
  undecided('chunks with an extension beyond ASCII', sized('c;a=\xff')),
  undecided('chunks with an extension of 100 KB', sized(`c;a=${'b'.repeat(100_000)}`)),
  undecided('chunks of which the size has a thousand noughts before it', sized(`${'0'.repeat(1000)}c`)),
  undecided('chunks of which the size has twenty noughts before it', sized(`${'0'.repeat(20)}c`)),
  sound(
    'no coding but one of another name',
    head(['Transfer_Encoding: chunked', 'X-Transfer-Encoding: chunked']) + own,
    {
      ends: true,
    },
  ),
]

export const chunks: readonly Poison[] = [
  ...malformed.map(([name, size]) => badBody(`a chunk size that is ${name}`, sized(size))),
  ...wrongChunks,
  ...trailers,
  ...codings.map(([name, value]) => badHead(`a coding that is ${name}`, coded(value) + fine + second)),
  ...wrongFields,
]
