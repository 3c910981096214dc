/** X-Forwarded-* and `Forwarded` (RFC 7239 §4). */
import type { ListenConfig } from '../../config/config.ts'
import type { PeerInfo } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { canonicalAddress } from '../../lib/net/addresses.ts'
import type { ForwardedFields } from './request-head.ts'
import { isValidHost } from './validate-request.ts'

export type TrustedProxyMatcher = (address: string) => boolean

export interface Peer extends PeerInfo {
  readonly address: string
  inFlight: number
  /** The client speaks TLS with the gateway or the load balancer in front. */
  readonly secure: boolean
}

/** The rightmost address that is no trusted proxy: clients can invent those to its left. */
export const getClientAddress = (peer: Peer, forwardedFor: string | null, isTrusted: TrustedProxyMatcher): string => {
  if (!peer.trusted || forwardedFor === null) return peer.address
  return walkForwardedFor(forwardedFor, isTrusted).at(-1) ?? peer.address
}

/** Nearest first, the client last; only entries of trusted proxies. */
const walkForwardedFor = (forwardedFor: string, isTrusted: TrustedProxyMatcher): readonly string[] => {
  const addresses: string[] = []
  for (const entry of forwardedFor.split(',').reverse()) {
    const address = parseForwardedForEntry(entry.trim()) // some proxies add a port
    if (address === null) break
    addresses.push(address)
    if (!isTrusted(address)) break
  }
  return addresses
}

const parseForwardedForEntry = (entry: string): string | null =>
  canonicalAddress(/^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry)

/** Via (RFC 9110 §7.6.3) and X-Forwarded-*, each after the values of trusted proxies. */
export const addForwardingFields = (
  fields: string[],
  forwarded: ForwardedFields,
  { address, secure }: Peer,
  authority: string,
  via: string,
): void => {
  fields.push('Via', via)
  fields.push('X-Forwarded-For', forwarded.for === null ? address : `${forwarded.for}, ${address}`)
  fields.push('X-Forwarded-Proto', forwarded.proto ?? (secure ? 'https' : 'http'))
  if (authority !== '') fields.push('X-Forwarded-Host', forwarded.host ?? authority)
}

export interface ForwardedClaims {
  readonly client: string
  readonly fields: ForwardedFields
  render(secure: boolean, authority: string): string
  /** The two fields contradict each other about the client. */
  readonly error: GatewayError | null
}

export type ReadForwarded = (peer: Peer, fields: ForwardedFields) => ForwardedClaims

interface Walk {
  /** Nearest first, the client last. */
  readonly addresses: readonly string[]
  readonly proto: string | null
  readonly host: string | null
}

/** Null: only X-Forwarded-For is read. */
export const compileForwarded = (
  mode: ListenConfig['forwarded'],
  isTrusted: TrustedProxyMatcher,
): ReadForwarded | null => {
  if (mode === 'x-forwarded') return null
  return (peer, fields) => {
    const byForwarded = fields.forwarded === null ? null : walkForwarded(fields.forwarded, isTrusted)
    const readsXForwarded = mode === 'both' && (fields.for !== null || byForwarded === null)
    const byXForwarded = readsXForwarded
      ? { ...fields, addresses: walkForwardedFor(fields.for ?? '', isTrusted) }
      : null
    // A client wrote one of the two fields, and nothing shows which.
    if (byForwarded !== null && byXForwarded !== null && contradict(byForwarded, byXForwarded))
      return toClaims(peer, emptyWalk, new GatewayError('bad-request', { reason: 'forwarded-contradiction' }))
    return toClaims(peer, byForwarded ?? byXForwarded ?? emptyWalk, null)
  }
}

const emptyWalk: Walk = { addresses: [], proto: null, host: null }

const contradict = (one: Walk, other: Walk): boolean =>
  one.addresses.at(-1) !== other.addresses.at(-1) || differ(one.proto, other.proto) || differ(one.host, other.host)

const differ = (one: string | null, other: string | null): boolean =>
  one !== null && other !== null && one.toLowerCase() !== other.toLowerCase()

/** From the last element to the first that names no trusted proxy. */
const walkForwarded = (field: string, isTrusted: TrustedProxyMatcher): Walk => {
  const addresses: string[] = []
  let [proto, host]: [string | null, string | null] = [null, null]
  for (let end = field.length; end >= 0; ) {
    const element = parseLastElement(field, end)
    if (element === null) break
    // A trusted proxy has written this element, even without `for`.
    proto = element.proto ?? proto
    host = element.host ?? host
    if (element.for === null) break
    addresses.push(element.for)
    if (!isTrusted(element.for)) break
    end = element.end
  }
  return { addresses, proto, host }
}

const toClaims = (peer: Peer, { addresses, proto, host }: Walk, error: GatewayError | null): ForwardedClaims => {
  const hops = addresses.toReversed()
  return {
    client: hops[0] ?? peer.address,
    fields: { for: hops.length === 0 ? null : hops.join(', '), proto, host, forwarded: null },
    render(secure, authority) {
      const [first = '', ...others] = [...hops, peer.address]
      const ownHost = host ?? (authority === '' ? null : authority)
      const element = renderElement(first, asProto(proto) ?? (secure ? 'https' : 'http'), ownHost)
      return [element, ...others.map((address) => renderElement(address, null, null))].join(', ')
    },
    error,
  }
}

/**
 * Parses backwards: the nearest proxy appended the last element, and a quotation mark that a client leaves open cannot
 * change it. Null: malformed.
 */
const parseLastElement = (field: string, end: number) => {
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
    /** Null: missing, obfuscated or unknown. */
    for: parseNode(found.get('for') ?? ''),
    proto: asProto(found.get('proto') ?? null),
    host: isValidHost(host) ? host : null,
    /** The end of the previous element; -1: none. */
    end: before - 1,
  }
}

const quotedContent = /^(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*$/

/** `name=value`, ending at `end`. */
const parseLastPair = (field: string, end: number) => {
  let equals: number
  let value: string
  if (field[end - 1] === '"') {
    // Inside quoted text, a backslash precedes a quotation mark, so `="` can only begin it.
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

/** §4 allows empty pairs: a proxy may end an element with a semicolon. */
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

// §6: an address, IPv6 in brackets, and perhaps a port; not `unknown` or an obfuscated name.
const nodePattern = /^(?:([\d.]+)|\[([\da-f:.]+)\])(?::(?:\d{1,5}|_[\w.-]+))?$/i

const parseNode = (node: string): string | null => {
  const [, ipv4, ipv6] = nodePattern.exec(node) ?? []
  const address = canonicalAddress(ipv4 ?? ipv6 ?? '')
  return ipv6 !== undefined && !ipv6.includes(':') ? null : address
}

const asProto = (text: string | null): 'http' | 'https' | null => {
  const proto = text?.toLowerCase()
  return proto === 'http' || proto === 'https' ? proto : null
}

const renderElement = (address: string, proto: string | null, host: string | null): string => {
  const node = canonicalAddress(address) === null ? 'unknown' : address.includes(':') ? `"[${address}]"` : address
  return `for=${node}${proto === null ? '' : `;proto=${proto}`}${host !== null && isValidHost(host) ? `;host="${host}"` : ''}`
}
