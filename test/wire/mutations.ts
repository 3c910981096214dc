import { METHODS } from 'node:http'
import { allOperations } from '../../src/operations.ts'

/** A request line that a client might try: strings are latin1, a byte a character. */
export interface Mutation {
  readonly method: string
  readonly target: string
  /** Must be sent on a connection of its own: longer than one read of the gateway's together with others. */
  readonly alone?: boolean
}

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

const paths = allOperations.map(({ path }) => path)
const hex = (char: string): string => char.charCodeAt(0).toString(16).padStart(2, '0')

/** Lists every byte that can stand in a request line without ending it or the target. */
const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter((b) => !' \r\n'.includes(b))

const words = (text: string): string[] => text.trim().split(/\s+/)

const strangers = [
  ...METHODS.flatMap((method) => [method.toLowerCase(), method[0] + method.slice(1).toLowerCase(), `${method}X`]),
  ...words('GE POS FOO G X-GET GET/ GETGET PRI DESCRIBE SETUP PLAY ANNOUNCE BREW DEBUG TRACK'),
  ...words('GET; G%45T "GET" PO-ST 0 - ! *'),
  ...['G\x00ET', 'GET\x00', '\x00GET', 'G\xc9T', 'GET\t', 'get\x7f'],
]
const prefixes = [
  ...words('/ // /. /./ /../ /x/../ /%2e/ /%2e%2e/ /%2f /%2F \\ /\\ /; /;a=b/ /~ /* /api /v1 /base /index.php'),
  ...words('/.well-known /%00 /%20 /%0d%0a /: /@ /_ . .. ./ ? *'),
]
const suffixes = [
  ...words('/ // /. /./ /.. /../ /%2e /%2e%2e /x/.. /x ; ;a ;a=b ;jsessionid=1 ;/ ;?a %2f %2F %5c \\ %00 %00.json'),
  ...words('%20 %09 %0d%0a %0a %3f %3fa %23 %3b %25 % %2 %zz .json .html . .. ~ $ ! * , : @ = & &a=b + | ^ ` " \' < >'),
  ...words('[ ] /index /1 /{id} { } # #x ?# ?a#b %c0%af %u002f'),
  ...['\xe9', '\xc3\xa9', '\xa0', '\xff', '\x00', '\x7f', '\t'],
]
const queries = [
  ...words('? ?? ?a ?a=b ?a=b&a=b ?a=%20 ?% ?%zz ?%00 ?/ ?/../ ?// ?\\ ?; ?= ?&&& ?a[]=1 ?[ ?] ?{"a":1} ?<x> ?" ?\''),
  ...words('?^ ?` ?| ?~ ?http://a/b ?a=b?c=d ?%e9 ?%C3%A9 ?+ ?a+b ?* ?@ ?: ?$ ?A ?a=B&b=A ?%61 ?. ?.. ?../..'),
  ...[`?${'a'.repeat(1000)}`, `?${'a=b&'.repeat(400)}`],
]
const authorities = [
  ...words('a A gateway other.example a: a:0 a:80 a:8080 a:00080 a:65535 a:65536 a:99999 a:100000 a:-1 a:x'),
  ...words('127.0.0.1 127.0.0.1:80 1.2.3.4.5 [::1] [::1]:80 [::1]: [::ffff:1.2.3.4] [2001:db8::1]:8080 [::1 ::1 []'),
  ...words('[g::1] [::1]x [::1]:70000 [::1%25lo] [v1.a] u@a u:p@a @a :@a a@ u@[::1] a@b@c %61 a%2eb a% a%zz a%2'),
  ...words('a:80:80 : :80 a,b a+b a_b a-b - . .. a. .a a!b a\'b a(b) a;b a=b a&b a"b a<b a\\b a\\@b a|b a^b a`b'),
  ...words('a{b} a[b a]b xn--a'),
  ...['', 'a\xe9b', 'a\x00b', 'a\x7fb', 'a\tb', 'a'.repeat(300)],
]
const schemes = words('http https HTTP HtTpS ftp ws wss file javascript httpx htt h urn http+unix h2')
const oddities = [
  ...words('* ** */ /* # #x ? ?a . .. - @ : :80 a a:80 a: gateway gateway:80 127.0.0.1:80 [::1]:80 http http: http:/'),
  ...words('http:// http:/// http://? http://a http://a/ http://a? http://a?a=b http://a// https://a http:a http:/a/b'),
  ...words('/ // /// /? /?a /. /.. /%2f /% \\ \\\\ %2f % " < |'),
  ...['\x00', '\x01', '\x1f', '\x7f', '\x80', '\xff', '\xc3\xa9'],
]

/** One of each method: the table and its paths are one code path for all. */
const tried = (['POST', 'GET'] as const).flatMap((wanted) =>
  allOperations.filter(({ method }) => method === wanted).slice(0, 1),
)

/** Lists what an operation of each method is tried with, systematically. */
export const systematic = (maxTarget: number): Mutation[] => {
  const list: Mutation[] = []
  const add = (method: string, target: string, alone = false): void => void list.push({ method, target, alone })
  for (const { method, path } of tried) {
    const other = method === 'GET' ? 'POST' : 'GET'
    const methods = [method, other]

    for (const each of METHODS) add(each, `${path}?a=b`)
    for (const each of strangers) add(each, path)
    for (const query of queries) for (const each of [method, other]) add(each, path + query)

    for (let at = 0; at < path.length; at++) {
      const char = path[at] ?? ''
      const cut = (middle: string): string => path.slice(0, at) + middle + path.slice(at + 1)
      for (const each of [method, other]) {
        add(each, cut(`%${hex(char)}`))
        add(each, cut(`%${hex(char).toUpperCase()}`))
        add(each, cut(`%25${hex(char)}`))
        add(each, cut(char.toUpperCase() === char ? `${char}${char}` : char.toUpperCase()))
        add(each, cut(''))
        add(each, cut(String.fromCharCode(char.charCodeAt(0) | 0x80)))
      }
    }
    for (const byte of bytes) {
      add(method, path + byte)
      add(method, byte + path)
      add(
        method,
        path.replace(/.\//, (pair) => pair[0] + byte + pair[1]),
      )
    }
    for (const prefix of prefixes) for (const each of methods) add(each, prefix + path)
    for (const suffix of suffixes) for (const each of methods) add(each, path + suffix)
    add(method, path.toUpperCase())
    add(method, path.slice(1))
    add(method, [...path].map((char) => `%${hex(char)}`).join(''))

    for (const authority of authorities) for (const each of [method, other]) add(each, `http://${authority}${path}?a=b`)
    for (const scheme of schemes) for (const each of [method, 'HEAD']) add(each, `${scheme}://a${path}`)
    for (const suffix of ['/', ';', '#', '%2f', '?', '?a=%20']) add(method, `http://a${path}${suffix}`)
    for (const gap of ['/', '//', '/.', '?', '#', ';', '\\']) add(method, `http://a${gap}${path}`)

    for (const length of [maxTarget - 1, maxTarget, maxTarget + 1, maxTarget * 2]) {
      for (const each of [method, other, 'HEAD']) {
        add(each, `${path}?`.padEnd(length, 'q'))
        add(each, path.padEnd(length, 'p'))
      }
    }
    add(method, `${path}?`.padEnd(45_000, 'q'), true)
  }
  for (const oddity of oddities) for (const each of ['GET', 'HEAD', 'OPTIONS', 'get']) add(each, oddity)
  for (const a of paths) for (const b of paths.slice(0, 3)) add('GET', a + b)
  return list
}

/** Makes `count` mutations of one to four edits each. */
export const randomised = (seed: number, count: number): Mutation[] => {
  const next = random(seed)
  const one = <T>(list: readonly T[]): T => list[next(list.length)] as T
  const edits: ((target: string, at: number) => string)[] = [
    (target, at) => target.slice(0, at) + one(bytes) + target.slice(at),
    (target, at) => target.slice(0, at) + one(bytes) + target.slice(at + 1),
    (target, at) => target.slice(0, at) + target.slice(at + 1),
    (target, at) => `${target.slice(0, at)}%${hex(target[at] ?? '/')}${target.slice(at + 1)}`,
    (target, at) =>
      target.slice(0, at) +
      one(['/', '//', '.', '..', '/../', ';', '%2f', '%00', '\\', '?', '#', '@', ':']) +
      target.slice(at),
    (target, at) => target.slice(at) + target.slice(0, at),
    (target, at) => target.slice(0, at) + target.slice(at).replace(/[a-z]/g, (char) => char.toUpperCase()),
    (target, at) => target.slice(0, at) + target.slice(Math.max(0, at - 3)),
    (target) => target + one(suffixes),
    (target) => one(prefixes) + target,
    (target) => target + one(queries),
    (target) => `${one(schemes)}://${one(authorities)}${target}`,
    (target) => target + one(paths),
  ]
  return Array.from({ length: count }, () => {
    const operation = one(allOperations)
    let target: string = operation.path
    for (let left = 1 + next(4); left > 0; left--) target = one(edits)(target, next(target.length + 1))
    const method = next(3) > 0 ? operation.method : next(4) > 0 ? one(METHODS) : one(strangers)
    return { method, target: target === '' ? '/' : target }
  })
}
