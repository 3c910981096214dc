import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Config } from '../../config/config.ts'
import { cidrMatcher, normalizeAddress } from '../../lib/net/addresses.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/snapshot.ts'
import { getRequestLimits, type RequestLimits } from '../http1/request-parser.ts'
import { compileForwarded, type Peer, type ReadForwarded, type TrustedProxyMatcher } from '../request/forwarded.ts'
import { type AuthorityMatcher, compileAuthorityMatcher } from '../request/match-request.ts'
import { createRequestId } from '../request/request-head.ts'

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

/** What a load balancer in front has said of a connection: kept for as long as the connection is there. */
export interface ConnectionClaims {
  /** How many bytes it took to say so. */
  readonly length: number
  /** The address of the client; null: not known. */
  readonly address: string | null
  /** Whether the load balancer knows nothing of the client: whose fields are believed is not known either then. */
  readonly isAnonymous: boolean
  /** The name that the client asked the load balancer for, for the log; null: not said. */
  readonly authority: string | null
  /** Tells whether the client speaks TLS with the load balancer, as the configuration is now. */
  isSecure(): boolean
}

const claims = new WeakMap<Socket, ConnectionClaims>()

export const setConnectionClaims = (socket: Socket, said: ConnectionClaims): void => void claims.set(socket, said)

/** Returns what was said of a connection; undefined: nothing was asked for. */
export const getConnectionClaims = (socket: Socket): ConnectionClaims | undefined => claims.get(socket)

/** Gives a TLS socket what was said of the connection below it, of which it receives no byte itself. */
export const inheritConnectionClaims = (secured: Socket, raw: Socket): void => {
  const said = claims.get(raw)
  if (said !== undefined) claims.set(secured, { ...said, length: 0 })
}

/** Tells whether nothing has come on a connection yet, apart from what was said of it. */
export const hasReceivedNothing = (socket: Socket): boolean => socket.bytesRead === (claims.get(socket)?.length ?? 0)

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
