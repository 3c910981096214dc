import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { getProxyHeader } from '../../../features/proxy-protocol/proxied-connections.ts'
import { canonicalAddress, normalizeAddress } from './addresses.ts'

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

/**
 * Describes the other end of a connection: of one with a PROXY protocol header, the client that this names.
 * `isTlsInFront`: clients speak TLS with a load balancer whose header does not say so.
 */
export const createPeer = (socket: Socket | TLSSocket, isTrusted: TrustedProxyMatcher, isTlsInFront = false): Peer => {
  const header = getProxyHeader(socket)
  const address = getRemoteAddress(socket)
  // The fields of a client of which the load balancer says nothing are its own, however much the balancer is trusted.
  const trusted = header?.origin !== 'unknown' && isTrusted(address)
  const isEncrypted = 'encrypted' in socket && socket.encrypted === true
  // A load balancer that only passes TLS on says that it has seen none.
  const isSecureInFront = header !== undefined && header.origin !== 'local' && (header.secure ?? isTlsInFront)
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
  getProxyHeader(socket)?.address ?? normalizeAddress(socket.remoteAddress ?? '')

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
export const walkForwardedFor = (forwardedFor: string, isTrusted: TrustedProxyMatcher): readonly string[] => {
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
