import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Config, ListenConfig } from '../../config/config.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { cidrMatcher } from '../../lib/net/addresses.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/snapshot.ts'
import { getRequestLimits, type RequestLimits } from '../http1/request-parser.ts'
import { asProto, parseLastElement, renderElement } from '../request/forwarded-element.ts'
import { type AuthorityMatcher, compileAuthorityMatcher } from '../request/match-request.ts'
import { createRequestId, type ForwardedFields } from '../request/request-head.ts'
import { canonicalAddress, normalizeAddress } from './addresses.ts'
import { getConnectionClaims } from './connection-claims.ts'

export interface CompiledListenerConfig {
  readonly config: Config
  readonly isTrusted: TrustedProxyMatcher
  /** Reads who the client is where `Forwarded` may say so; null: X-Forwarded-For alone does. */
  readonly readForwarded: ReadForwarded | null
  readonly matchesAuthority: AuthorityMatcher
  readonly requestLimits: RequestLimits
  readonly maxRequestsPerConnection: number
  readonly maxBodyBytes: number
  /** The longest time from a response to the next request, where the rest of its own request is still to come. */
  readonly idleTimeoutMs: number
  /** The lower-case name of the field that carries the request id, or null. */
  readonly requestIdField: string | null
  /** Whether fields that name another target or method pass from every client. */
  readonly keepsOverrides: boolean
  readonly createRequestId: () => string
}

const compileListenerConfig = (config: Config): CompiledListenerConfig => {
  const isTrusted = cidrMatcher(config.listen.trustedProxies)
  return {
    config,
    isTrusted,
    readForwarded: compileForwarded(config.listen.forwarded, isTrusted),
    matchesAuthority: compileAuthorityMatcher(config.listen),
    requestLimits: getRequestLimits(config.listen),
    maxRequestsPerConnection: config.listen.maxRequestsPerConnection ?? Number.POSITIVE_INFINITY,
    maxBodyBytes: Math.max(...Object.values(config.operations).map((each) => each.maxBody ?? Number.POSITIVE_INFINITY)),
    // The wait for a request, the time that a head may take, and a margin.
    idleTimeoutMs: config.listen.timeouts.keepAlive + config.listen.timeouts.headers + 2000,
    requestIdField: config.requestId.header?.toLowerCase() ?? null,
    keepsOverrides: config.listen.overrideFields === 'forward',
    createRequestId: createRequestId[config.requestId.format],
  }
}

export type GetListenerConfig = () => CompiledListenerConfig

/** Creates a getter that compiles anew when the configuration has changed, which costs one comparison a request. */
export const createListenerConfigGetter = (currentSnapshot: CurrentSnapshot): GetListenerConfig => {
  let compiled = compileListenerConfig(currentSnapshot.value.config)
  return () => {
    const { config } = currentSnapshot.value
    if (compiled.config !== config) compiled = compileListenerConfig(config)
    return compiled
  }
}

/** Returns whether an address is that of a proxy whose forwarding fields are believed. */
export type TrustedProxyMatcher = (address: string) => boolean

export interface Peer {
  readonly address: string
  readonly trusted: boolean
  /** Whether the client speaks TLS: with the gateway, or with the load balancer in front that passes TCP on. */
  readonly secure: boolean
  inFlight: number
  /** The certificate that it has shown and that was verified; null: none was asked for, or none was shown. */
  certificate(): X509Certificate | null
}

/** Describes the other end of a connection: the client that a load balancer in front names, if it does. */
export const createPeer = (socket: Socket | TLSSocket, isTrusted: TrustedProxyMatcher): Peer => {
  const said = getConnectionClaims(socket)
  const address = getRemoteAddress(socket)
  // The fields of a client of which the load balancer says nothing are its own, however much the balancer is trusted.
  const trusted = said?.isAnonymous !== true && isTrusted(address)
  const isEncrypted = 'encrypted' in socket && socket.encrypted === true
  // A load balancer that only passes TLS on says that it has seen none.
  const isSecureInFront = said?.isSecure() === true
  // Always the same object for one connection: facts about it may be keyed by it.
  let cachedCertificate: X509Certificate | null | undefined
  const certificate = (): X509Certificate | null => {
    cachedCertificate ??= (isEncrypted && socket.authorized && socket.getPeerX509Certificate()) || null
    return cachedCertificate
  }
  return { address, trusted, secure: isEncrypted || isSecureInFront, inFlight: 0, certificate }
}

/** Returns the address of the client, or of the load balancer where that names no client. */
export const getRemoteAddress = (socket: Socket): string =>
  getConnectionClaims(socket)?.address ?? normalizeAddress(socket.remoteAddress ?? '')

/**
 * Finds the client behind trusted proxies: the rightmost address of X-Forwarded-For that is not itself a trusted proxy.
 * The client may have made up what stands to the left of it. An entry that is no address ends the search at the last
 * one that was.
 */
export const getClientAddress = (peer: Peer, forwardedFor: string | null, isTrusted: TrustedProxyMatcher): string => {
  if (!peer.trusted || forwardedFor === null) return peer.address
  return walkForwardedFor(forwardedFor, isTrusted).at(-1) ?? peer.address
}

/** Lists the addresses of X-Forwarded-For that trusted proxies have written, the nearest first, the client's last. */
const walkForwardedFor = (forwardedFor: string, isTrusted: TrustedProxyMatcher): readonly string[] => {
  const addresses: string[] = []
  for (const entry of forwardedFor.split(',').reverse()) {
    const address = parseForwardedForEntry(entry.trim())
    if (address === null) break
    addresses.push(address)
    if (!isTrusted(address)) break
  }
  return addresses
}

/** Parses an entry of X-Forwarded-For, which some proxies write with a port. */
const parseForwardedForEntry = (entry: string): string | null =>
  canonicalAddress(/^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry)

/** What is believed of what proxies say by `Forwarded`. */
export interface ForwardedClaims {
  readonly client: string
  /** What the gateway's own fields are made of. */
  readonly fields: ForwardedFields
  /** Renders `Forwarded` with the gateway's own hop. */
  render(secure: boolean, authority: string): string
  /** Rejects a request about whose client the proxies contradict themselves; null: they do not. */
  readonly error: GatewayError | null
}

type ReadForwarded = (peer: Peer, fields: ForwardedFields) => ForwardedClaims

interface Walk {
  /** The addresses that were found, the nearest first; the last one is the client's. */
  readonly addresses: readonly string[]
  readonly proto: string | null
  readonly host: string | null
}

/** Compiles how `Forwarded` is read; null: it is not, and X-Forwarded-For alone says who the client is. */
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
    // One of the two is what a client wrote then, and nothing tells which.
    if (byForwarded !== null && byXForwarded !== null && contradict(byForwarded, byXForwarded))
      return toClaims(peer, emptyWalk, new GatewayError('bad-request', { reason: 'forwarded-contradiction' }))
    return toClaims(peer, byForwarded ?? byXForwarded ?? emptyWalk, null)
  }
}

const emptyWalk: Walk = { addresses: [], proto: null, host: null }

/** Tells whether two fields name different clients, or say different things of how it has come. */
const contradict = (one: Walk, other: Walk): boolean =>
  one.addresses.at(-1) !== other.addresses.at(-1) || differ(one.proto, other.proto) || differ(one.host, other.host)

const differ = (one: string | null, other: string | null): boolean =>
  one !== null && other !== null && one.toLowerCase() !== other.toLowerCase()

/** Walks over the elements from the last one: up to the first that no trusted proxy is named by. */
const walkForwarded = (field: string, isTrusted: TrustedProxyMatcher): Walk => {
  const addresses: string[] = []
  let [proto, host]: [string | null, string | null] = [null, null]
  for (let end = field.length; end >= 0; ) {
    const element = parseLastElement(field, end)
    if (element === null) break
    // A trusted proxy has written it, even if it does not say whose hop it was.
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
