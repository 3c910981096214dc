import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Config } from '../../config/config.ts'
import { cidrMatcher, normalizeAddress } from '../../lib/net/addresses.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/snapshot.ts'
import { getRequestLimits } from '../http1/request-parser.ts'
import { compileForwarded, type Peer, type TrustedProxyMatcher } from '../request/forwarded.ts'
import { createRequestId } from '../request/request-head.ts'
import { compileAuthorityMatcher } from '../request/validate-request.ts'

export type CompiledListenerConfig = Readonly<ReturnType<typeof compileListenerConfig>>

const compileListenerConfig = (config: Config) => {
  const isTrusted = cidrMatcher(config.listen.trustedProxies)
  return {
    config,
    isTrusted,
    /** Null: only X-Forwarded-For is read. */
    readForwarded: compileForwarded(config.listen.forwarded, isTrusted),
    matchesAuthority: compileAuthorityMatcher(config.listen),
    requestLimits: getRequestLimits(config.listen),
    maxRequestsPerConnection: config.listen.maxRequestsPerConnection ?? Number.POSITIVE_INFINITY,
    maxBodyBytes: Math.max(...Object.values(config.operations).map((each) => each.maxBody ?? Number.POSITIVE_INFINITY)),
    /** While the rest of a rejected request comes: the wait for a request, its head, and a margin. */
    idleTimeoutMs: config.listen.timeouts.keepAlive + config.listen.timeouts.headers + 2000,
    /** Null: request ids are off. */
    requestIdField: config.requestId.header?.toLowerCase() ?? null,
    keepsOverrides: config.listen.overrideFields === 'forward',
    createRequestId: createRequestId[config.requestId.format],
  }
}

export type GetListenerConfig = () => CompiledListenerConfig

/** Compiles once for each configuration. */
export const createListenerConfigGetter = (currentSnapshot: CurrentSnapshot): GetListenerConfig => {
  let compiled = compileListenerConfig(currentSnapshot.value.config)
  return () => {
    const { config } = currentSnapshot.value
    if (compiled.config !== config) compiled = compileListenerConfig(config)
    return compiled
  }
}

/** The claims of a load balancer in front about its client. */
export interface ConnectionClaims {
  readonly length: number
  /** The client's; null: not known. */
  readonly address: string | null
  readonly isAnonymous: boolean // the load balancer knows nothing of the client
  /** The server name that the client asked for, for the log. */
  readonly authority: string | null
  /** The client speaks TLS with the load balancer, by the current configuration. */
  isSecure(): boolean
}

const claims = new WeakMap<Socket, ConnectionClaims>()

export const setConnectionClaims = (socket: Socket, said: ConnectionClaims): void => void claims.set(socket, said)

export const getConnectionClaims = (socket: Socket): ConnectionClaims | undefined => claims.get(socket)

/** `length` is 0 on the secured socket: the claims came on the raw one. */
export const inheritConnectionClaims = (secured: Socket, raw: Socket): void => {
  const said = claims.get(raw)
  if (said !== undefined) claims.set(secured, { ...said, length: 0 })
}

/** The bytes of claims do not count. */
export const hasReceivedNothing = (socket: Socket): boolean => socket.bytesRead === (claims.get(socket)?.length ?? 0)

/** The client that a load balancer in front names, or the other end of the connection. */
export const createPeer = (socket: Socket | TLSSocket, isTrusted: TrustedProxyMatcher): Peer => {
  const said = getConnectionClaims(socket)
  const address = getRemoteAddress(socket)
  // An anonymous client writes its own fields, even behind a trusted load balancer.
  const trusted = said?.isAnonymous !== true && isTrusted(address)
  const isEncrypted = 'encrypted' in socket && socket.encrypted === true
  // A load balancer that only passes TLS on claims no TLS.
  const isSecureInFront = said?.isSecure() === true
  // One object per connection, so that facts can be keyed by it.
  let cachedCertificate: X509Certificate | null | undefined
  const certificate = (): X509Certificate | null => {
    cachedCertificate ??= (isEncrypted && socket.authorized && socket.getPeerX509Certificate()) || null
    return cachedCertificate
  }
  return { address, trusted, secure: isEncrypted || isSecureInFront, inFlight: 0, certificate }
}

/** The client's address, or the load balancer's if that names no client. */
export const getRemoteAddress = (socket: Socket): string =>
  getConnectionClaims(socket)?.address ?? normalizeAddress(socket.remoteAddress ?? '')
