import { isDomain, isIdnHostname, type TakeSteps } from './hostname.ts'
import { ipv4, isIpv6 } from './ip-address.ts'

/** Tells whether a text is a `Mailbox` of RFC 5321 §4.1.2. */
export const isEmail = (text: string): boolean => {
  const at = findAt(text)
  return at > 0 && isAscii(text) && isLocalPart(text.slice(0, at)) && isHost(text.slice(at + 1))
}

/** Tells whether a text is a `Mailbox` as RFC 6531 §3.3 extends it. */
export const isIdnEmail = (text: string, takeSteps: TakeSteps): boolean => {
  const at = findAt(text)
  if (at < 1 || !text.isWellFormed() || !isLocalPart(text.slice(0, at))) return false
  const host = text.slice(at + 1)
  return isAscii(host) ? isHost(host) : isIdnHostname(host, takeSteps)
}

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/** Finds the sign between local part and domain: only a quoted local part may hold another one. */
const findAt = (text: string): number => (text.startsWith('"') ? text.lastIndexOf('@') : text.indexOf('@'))

const isLocalPart = (text: string): boolean => {
  if (text.startsWith('"')) return isQuoted(text)
  // RFC 5321 §4.1.2: Dot-string, of atext (RFC 5322 §3.2.3).
  return !/[\0- "(),:;<>@[\\\]\x7f]/.test(text) && !/^\.|\.$|\.\./.test(text)
}

/** Tells whether a text is a `Quoted-string`: a quote or a backslash inside stands behind a backslash. */
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
