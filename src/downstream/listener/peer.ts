import type { X509Certificate } from 'node:crypto'
import { isIPv4, isIPv6, type Socket, SocketAddress } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** Returns whether an address is that of a proxy whose forwarding fields are believed. */
export type TrustedProxyMatcher = (address: string) => boolean

/** The other end of a connection. */
export interface Peer {
  readonly address: string
  readonly trusted: boolean
  readonly secure: boolean
  /** The certificate that it has shown and that was verified; null: none was asked for, or none was shown. */
  certificate(): X509Certificate | null
}

/** Describes the other end of a connection. */
export const createPeer = (socket: Socket | TLSSocket, isTrusted: TrustedProxyMatcher): Peer => {
  const address = normalizeAddress(socket.remoteAddress ?? '')
  const secure = 'encrypted' in socket && socket.encrypted === true
  // Always the same object for one connection: facts about it may be keyed by it.
  let cachedCertificate: X509Certificate | null | undefined
  const certificate = (): X509Certificate | null => {
    cachedCertificate ??= (secure && socket.authorized && socket.getPeerX509Certificate()) || null
    return cachedCertificate
  }
  return { address, trusted: isTrusted(address), secure, certificate }
}

/**
 * Finds the client behind trusted proxies: the rightmost address of X-Forwarded-For that is not itself a trusted proxy.
 * The client may have made up what stands to the left of it. An entry that is no address ends the search at the last
 * one that was.
 */
export const getClientAddress = (peer: Peer, forwardedFor: string | null, isTrusted: TrustedProxyMatcher): string => {
  if (!peer.trusted || forwardedFor === null) return peer.address
  let client = peer.address
  for (const entry of forwardedFor.split(',').reverse()) {
    const address = parseForwardedForEntry(entry.trim())
    if (address === null) return client
    client = address
    if (!isTrusted(address)) return client
  }
  return client
}

/** Parses an entry of X-Forwarded-For, which some proxies write with a port. */
const parseForwardedForEntry = (entry: string): string | null => {
  const bare = /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry
  if (isIPv4(bare)) return bare
  if (!isIPv6(bare)) return null
  // An IPv6 address has many spellings, an IPv4 address in it too: unnormalised, they would all count as one network. A
  // zone is another host's.
  const [address] = bare.split('%')
  return normalizeAddress(new SocketAddress({ address, family: 'ipv6' }).address)
}

/** Converts an IPv4 address that came over an IPv6 socket to its own form. */
export const normalizeAddress = (address: string): string =>
  address.startsWith('::ffff:') && isIPv4(address.slice(7)) ? address.slice(7) : address
