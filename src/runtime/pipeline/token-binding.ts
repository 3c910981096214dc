import { X509Certificate } from 'node:crypto'
import { pemBlocks } from '../../config/certificates.ts'
import type { AuthConfig, Config, MtlsConfig } from '../../config/config.ts'
import {
  certificateFromConnection,
  certificateFromHeader,
  type GetClientCertificate,
  withValidityCheck,
} from '../../layers/auth/client-certificate.ts'
import { dpopProofChecker, replayWindowMs } from '../../layers/auth/dpop.ts'
import { type CheckSenderConstraint, senderConstraint } from '../../layers/auth/sender-constraint.ts'
import type {
  RateLimiterRegistry,
  RateLimiterState,
  ReplayCacheLease,
} from '../../shared/rate-limiter/rate-limiter-registry.ts'
import type { ReplayWindowState } from '../../shared/replay-cache.ts'

/** The checks that a client possesses the key or certificate which its credential is bound to. */
export interface TokenBindingChecker {
  readonly getCertificate: GetClientCertificate
  /** The names, in lower case, of the header fields that client certificates come in. */
  readonly certificateFields: readonly string[]
  readonly confirm: CheckSenderConstraint
  /** The algorithms that DPoP proofs may be signed with. Null: the gateway accepts no proofs. */
  readonly algorithms: readonly string[] | null
  /** Returns how full the replay window of proofs is. Null: proofs are off, or another process keeps the window. */
  state(): ReplayWindowState | null
  /** Returns whether Redis remembers proofs for all gateways. Null: it is not meant to, or other processes ask it. */
  sharedState(): RateLimiterState | null
  /** Releases the replay cache. */
  release(): void
}

/** Creates the checker of one configuration. */
export const createTokenBindingChecker = (
  { bound, mtls, dpop: config }: AuthConfig,
  { listen, limits }: Pick<Config, 'listen' | 'limits'>,
  limiters: RateLimiterRegistry,
): TokenBindingChecker => {
  const getCertificate = withValidityCheck(certificateSource(mtls))
  const { publicUrl } = listen
  const replayLease: ReplayCacheLease | null =
    config &&
    limiters.acquireReplayCache(
      { name: 'dpop', windowMs: replayWindowMs(config), whenUnavailable: config.withoutRedis },
      limits.redis,
    )
  const algorithms = config?.algorithms ?? null
  return {
    getCertificate,
    certificateFields: mtls.from === 'connection' ? [] : ['client-cert', 'client-cert-chain'],
    confirm: senderConstraint({
      required: bound === 'required',
      getCertificate,
      checkProof:
        config && replayLease && publicUrl !== null
          ? dpopProofChecker({ ...config, publicUrl }, replayLease.replayCache)
          : null,
      algorithms,
    }),
    algorithms,
    state: () => replayLease?.state() ?? null,
    sharedState: () => replayLease?.sharedState() ?? null,
    release: () => replayLease?.release(),
  }
}

const certificateSource = ({ from, ca }: MtlsConfig): GetClientCertificate => {
  if (from === 'connection') return certificateFromConnection
  return certificateFromHeader(ca === null ? null : pemBlocks(ca).map((block) => new X509Certificate(block)))
}
