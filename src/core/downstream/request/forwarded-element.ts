/** Parses `Forwarded` (RFC 7239 §4) from its end, element by element. */
import { canonicalAddress } from '../listener/addresses.ts'
import { isValidHost } from './match-request.ts'

/** What a proxy says of the hop on which a request reached it. */
interface ForwardedElement {
  /** The address of the other end; null: not said, obfuscated or unknown. */
  readonly for: string | null
  readonly proto: 'http' | 'https' | null
  readonly host: string | null
  /** Where the element before it ends; -1: it is the first. */
  readonly end: number
}

interface Pair {
  readonly name: string
  readonly value: string
  readonly start: number
}

/**
 * Parses the last element of what stands before `end`. Null: it is malformed. From the end, because the last element is
 * what the nearest proxy has appended: a client that leaves a quotation mark open on the left does not change how that
 * is read.
 */
export const parseLastElement = (field: string, end: number): ForwardedElement | null => {
  const found = new Map<string, string>()
  let at = skipSemicolons(field, skipBlanks(field, end))
  for (;;) {
    const pair = parseLastPair(field, at)
    // §4: no parameter occurs twice.
    if (pair === null || found.has(pair.name)) return null
    found.set(pair.name, pair.value)
    at = skipSemicolons(field, pair.start)
    const isFirst = at === 0 || ', \t'.includes(field.charAt(at - 1))
    if (isFirst || at === pair.start) break
  }
  const before = skipBlanks(field, at)
  if (before > 0 && field[before - 1] !== ',') return null
  const host = found.get('host') ?? ''
  return {
    for: parseNode(found.get('for') ?? ''),
    proto: asProto(found.get('proto') ?? null),
    host: isValidHost(host) ? host : null,
    end: before - 1,
  }
}

const quotedContent = /^(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*$/

/** Parses the last `name=value` of what stands before `end`. */
const parseLastPair = (field: string, end: number): Pair | null => {
  let equals: number
  let value: string
  if (field[end - 1] === '"') {
    // No quoted text holds this: a quotation mark in it has a backslash before it.
    equals = field.lastIndexOf('="', end - 3)
    const content = field.slice(equals + 2, end - 1)
    if (equals === -1 || !quotedContent.test(content)) return null
    value = content.replaceAll(/\\(.)/g, '$1')
  } else {
    equals = startOfToken(field, end) - 1
    value = field.slice(equals + 1, end)
    if (value === '' || field[equals] !== '=') return null
  }
  const start = startOfToken(field, equals)
  return start === equals ? null : { name: field.slice(start, equals).toLowerCase(), value, start }
}

const tokenCharacter = /[!#$%&'*+.^_`|~0-9A-Za-z-]/

const startOfToken = (field: string, end: number): number => {
  let start = end
  while (start > 0 && tokenCharacter.test(field.charAt(start - 1))) start--
  return start
}

/** Skips empty pairs too, which §4 allows: a proxy may end an element with a semicolon. */
const skipSemicolons = (field: string, end: number): number => {
  let at = end
  while (field[at - 1] === ';') at--
  return at
}

const skipBlanks = (field: string, end: number): number => {
  let at = end
  while (at > 0 && (field[at - 1] === ' ' || field[at - 1] === '\t')) at--
  return at
}

// §6: an address, IPv6 in brackets, `unknown` or an obfuscated name, and perhaps a port.
const nodePattern = /^(?:([\d.]+)|\[([\da-f:.]+)\])(?::(?:\d{1,5}|_[\w.-]+))?$/i

const parseNode = (node: string): string | null => {
  const [, ipv4, ipv6] = nodePattern.exec(node) ?? []
  const address = canonicalAddress(ipv4 ?? ipv6 ?? '')
  return ipv6 !== undefined && !ipv6.includes(':') ? null : address
}

/** Returns the scheme that a text is; null: none that clients of this gateway use. */
export const asProto = (text: string | null): 'http' | 'https' | null => {
  const proto = text?.toLowerCase()
  return proto === 'http' || proto === 'https' ? proto : null
}

/** Renders an element: what this gateway, or a proxy that it believes, says of a hop. It omits a host that is none. */
export const renderElement = (address: string, proto: string | null, host: string | null): string => {
  const node = canonicalAddress(address) === null ? 'unknown' : address.includes(':') ? `"[${address}]"` : address
  return `for=${node}${proto === null ? '' : `;proto=${proto}`}${host !== null && isValidHost(host) ? `;host="${host}"` : ''}`
}
