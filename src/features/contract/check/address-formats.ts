import { createRequire } from 'node:module'
import { tryOrNull } from '../../../core/lib/try.ts'
import type { StepBudget } from './step-budget.ts'

/** A format as Ajv takes it; true: any string. */
export type Format =
  | true
  | RegExp
  | ((text: string) => boolean)
  | { readonly type: 'number'; readonly validate: (value: number) => boolean }

export const createAddressFormats = (steps: StepBudget): Readonly<Record<string, Format>> => ({
  email: isEmail,
  'idn-email': (text: string) => isIdnEmail(text, steps),
  hostname: (text: string) => isHostname(text, steps),
  'idn-hostname': (text: string) => isIdnHostname(text, steps),
  ipv4,
  ipv6: (text: string) => isIpv6(text),
  // RFC 3986 §3, §4.1; RFC 3987 §2.2.
  uri: (text: string) => hasScheme(text) && isReference(text, uri),
  'uri-reference': (text: string) => isReference(text, uri),
  iri: (text: string) => hasScheme(text) && isReference(text, iri),
  'iri-reference': (text: string) => isReference(text, iri),
  'uri-template': isUriTemplate,
})

/** RFC 5321 §4.1.2: `Mailbox`. */
const isEmail = (text: string): boolean => {
  const at = findAt(text)
  return at > 0 && isAscii(text) && isLocalPart(text.slice(0, at)) && isHost(text.slice(at + 1))
}

/** RFC 6531 §3.3: `Mailbox`. */
const isIdnEmail = (text: string, steps: StepBudget): boolean => {
  const at = findAt(text)
  if (at < 1 || !text.isWellFormed() || !isLocalPart(text.slice(0, at))) return false
  const host = text.slice(at + 1)
  return isAscii(host) ? isHost(host) : isIdnHostname(host, steps)
}

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/** Only a quoted local part may hold a second `@`. */
const findAt = (text: string): number => (text.startsWith('"') ? text.lastIndexOf('@') : text.indexOf('@'))

const isLocalPart = (text: string): boolean => {
  if (text.startsWith('"')) return isQuoted(text)
  // RFC 5321 §4.1.2: Dot-string, of atext (RFC 5322 §3.2.3).
  return !/[\0- "(),:;<>@[\\\]\x7f]/.test(text) && !/^\.|\.$|\.\./.test(text)
}

const isQuoted = (text: string): boolean => {
  if (text.length < 2 || /[^ -~\u{80}-\u{10ffff}]/u.test(text)) return false
  let at = 1
  while (at < text.length - 1) {
    const character = text[at]
    if (character === '"') return false
    // RFC 5321 §4.1.2: quoted-pairSMTP is of ASCII.
    if (character === '\\' && !/[ -~]/.test(text.charAt(++at))) return false
    at++
  }
  return at === text.length - 1 && text[at] === '"'
}

const isHost = (text: string): boolean => {
  if (!text.startsWith('[')) return isDomain(text)
  if (!text.endsWith(']')) return false
  const address = text.slice(1, -1)
  // The only tag that is registered (RFC 5321 §4.1.3).
  if (/^ipv6:/i.test(address)) return isIpv6(address.slice(5), 6)
  return ipv4.test(address)
}

/** RFC 1034 §3.1. */
const [maxName, maxLabel] = [253, 63]

/** RFC 1123 §2.1, RFC 5321 §4.1.2. */
const isDomain = (text: string): boolean =>
  text !== '' && !/[^a-z\d.-]/i.test(text) && !/^[.-]|[.-]$|\.[.-]|-\./.test(text)

/** RFC 1123 §2.1, with A-labels that IDNA allows (RFC 5890). */
const isHostname = (text: string, steps: StepBudget): boolean =>
  text.length <= maxName &&
  isDomain(text) &&
  text.split('.').every((label) => label.length <= maxLabel) &&
  (!/(?:^|\.)xn--/i.test(text) || isIdnHostname(text, steps))

/** RFC 5890 §2.3.2.3: any script. */
const isIdnHostname = (text: string, { take }: StepBudget): boolean => {
  // An A-label is longer than the label it encodes.
  if (text.length > maxName || /[.\u{3002}\u{ff0e}\u{ff61}]$/u.test(text)) return false
  take(stepsPerName + text.length * stepsPerCharacter)
  idna ??= load('idn-hostname')
  return tryOrNull(() => idna?.isIdnHostname(text)) === true
}

// 10 µs for a short name, 300 µs for the longest.
const [stepsPerName, stepsPerCharacter] = [2500, 300]

const load = createRequire(import.meta.url)

/** The tables of Unicode take 11 ms and 1 MB, so the first name that needs them loads them. */
let idna: typeof import('idn-hostname') | undefined

const octet = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`

/** RFC 2673 §3.2, without leading zeros. */
const ipv4 = new RegExp(String.raw`^(?:${octet}\.){3}${octet}$`)

/** RFC 4291 §2.2. `::` stands for at least one group, in a mail address for two (RFC 5321 §4.1.3). */
const isIpv6 = (text: string, maxBesideZeros = 7): boolean => {
  if (text.length > maxIpv6Length) return false
  const halves = text.split('::')
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const last = groups.at(-1) ?? ''
  const isMapped = last.includes('.') && text.endsWith(last) && ipv4.test(last)
  const hexadecimal = isMapped ? groups.slice(0, -1) : groups
  if (!hexadecimal.every((group) => /^[\da-f]{1,4}$/i.test(group))) return false
  const length = hexadecimal.length + (isMapped ? 2 : 0)
  return halves.length === 1 ? length === 8 : halves.length === 2 && length <= maxBesideZeros
}

const maxIpv6Length = 45

// RFC 3986 §2.2 and §2.3: sub-delims and unreserved. isEncoded checks %.
const ascii = String.raw`a-zA-Z\d\-._~!$&'()*+,;=%`
// RFC 3987 §2.2: ucschar and iprivate.
const planes = Array.from({ length: 13 }, (_, at) => (at + 1).toString(16))
const others = planes.map((plane) => String.raw`\u{${plane}0000}-\u{${plane}fffd}`).join('')
const ucschar = String.raw`\u{a0}-\u{d7ff}\u{f900}-\u{fdcf}\u{fdf0}-\u{ffef}${others}\u{e1000}-\u{efffd}`
const iprivate = String.raw`\u{e000}-\u{f8ff}\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}`

/** One search is linear and takes no stack. */
const noneOf = (characters: string): RegExp => new RegExp(`[^${characters}]`, 'u')

/** `characters`: those beside percent-encodings and `:/?#[]@`. */
const alphabetOf = (characters: string, moreInQuery: string) => ({
  host: noneOf(characters),
  userinfo: noneOf(`${characters}:`),
  path: noneOf(`${characters}:@/`),
  query: noneOf(`${characters}:@/?${moreInQuery}`),
  fragment: noneOf(`${characters}:@/?`),
})

type Alphabet = ReturnType<typeof alphabetOf>

const [uri, iri] = [alphabetOf(ascii, ''), alphabetOf(ascii + ucschar, iprivate)]

const hasScheme = (text: string): boolean => /^[a-z][a-z\d+.-]*:/i.test(text)

/** RFC 3986 §2.1. */
const isEncoded = (text: string): boolean => !/%(?![\da-f]{2})/i.test(text)

// RFC 3986 appendix B. A colon in the first segment ends a scheme (§4.2).
const parts = /^(?:([^:/?#]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s

const isReference = (text: string, alphabet: Alphabet): boolean => {
  if (!isEncoded(text)) return false
  const found = parts.exec(text)
  if (found === null) return false
  const [scheme, authority, path = '', query = '', fragment = ''] = found.slice(1)
  if (scheme !== undefined && !/^[a-z][a-z\d+.-]*$/i.test(scheme)) return false
  if (alphabet.path.test(path) || alphabet.query.test(query) || alphabet.fragment.test(fragment)) return false
  return authority === undefined || isAuthority(authority, alphabet)
}

const isAuthority = (text: string, { host, userinfo }: Alphabet): boolean => {
  const at = text.indexOf('@')
  if (at !== -1 && userinfo.test(text.slice(0, at))) return false
  const found = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::\d*)?$/.exec(text.slice(at + 1))
  if (found === null) return false
  const [, literal, name = ''] = found
  return literal === undefined ? !host.test(name) : isIpv6(literal) || isIpvFuture(literal)
}

const isIpvFuture = (text: string): boolean => /^v[\da-f]+\.[a-z\d\-._~!$&'()*+,;=:]+$/i.test(text)

// RFC 6570 §2.1, with erratum 6937: an apostrophe is a literal.
const literals = new RegExp(String.raw`^[!#$%&-;=?-\[\]_a-z~${ucschar}${iprivate}]*$`, 'u')

/** RFC 6570 §2. */
function isUriTemplate(text: string): boolean {
  if (!isEncoded(text)) return false
  let start = 0
  for (let open = text.indexOf('{'); open !== -1; open = text.indexOf('{', start)) {
    const close = text.indexOf('}', open)
    if (close === -1 || !literals.test(text.slice(start, open)) || !isExpression(text.slice(open + 1, close)))
      return false
    start = close + 1
  }
  return literals.test(text.slice(start))
}

/** RFC 6570 §2.2 to §2.4. */
const isExpression = (text: string): boolean =>
  text
    .replace(/^[+#./;?&=,!@|]/, '')
    .split(',')
    .every(isVariable)

const isVariable = (text: string): boolean => {
  const [, name = ''] = /^([^:*]+)(?:\*|:[1-9]\d{0,3})?$/.exec(text) ?? []
  return name !== '' && !/[^\w%.]/.test(name) && !/^\.|\.$|\.\./.test(name)
}
