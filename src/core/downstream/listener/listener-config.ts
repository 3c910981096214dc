import type { Config } from '../../config/config.ts'
import { cidrMatcher } from '../../lib/net/cidr.ts'
import type { CurrentSnapshot } from '../../runtime/snapshot/current-snapshot.ts'
import { getRequestLimits, type RequestLimits } from '../http1/request-parser.ts'
import { compileForwarded, type ReadForwarded } from '../request/forwarded-claims.ts'
import { type AuthorityMatcher, compileAuthorityMatcher } from '../request/match-request.ts'
import { createRequestId } from '../request/request-head.ts'
import type { TrustedProxyMatcher } from './peer.ts'

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
