import { X509Certificate } from 'node:crypto'
import { pemBlocks } from '../config/certificate.ts'
import type { AuthConfig, Config, MtlsConfig } from '../config/config.ts'
import { bound, type Confirm } from '../layers/auth/bound.ts'
import { type CertificateOf, clientCert, ofConnection, whileValid } from '../layers/auth/certificate.ts'
import { dpop, replayWindowMs } from '../layers/auth/dpop.ts'
import type { HeldOnce, Limiters } from '../shared/limiter/limiters.ts'
import type { SeenState } from '../shared/once/once.ts'

/** Is what finds out whether somebody has what a credential is bound to. */
export interface Bindings {
  readonly certificateOf: CertificateOf
  /** The names, in lower case, of the fields that certificates come in. */
  readonly certificateFields: readonly string[]
  readonly confirm: Confirm
  /** What proofs may be signed with; null: they are not taken. */
  readonly algorithms: readonly string[] | null
  /** Tells how full the memory of proofs is; null: none are taken, or another process remembers them. */
  state(): SeenState | null
  /** Gives back what it stands on. */
  release(): void
}

/** Makes it, once a configuration. */
export const bindingsOf = (
  { bound: bounds, mtls, dpop: config }: AuthConfig,
  { listen, limits }: Pick<Config, 'listen' | 'limits'>,
  limiters: Limiters,
): Bindings => {
  const certificateOf = whileValid(certificates(mtls))
  const { publicUrl } = listen
  const held: HeldOnce | null =
    config &&
    limiters.holdOnce({ name: 'dpop', windowMs: replayWindowMs(config), otherwise: config.withoutRedis }, limits.redis)
  const algorithms = config?.algorithms ?? null
  return {
    certificateOf,
    certificateFields: mtls.from === 'connection' ? [] : ['client-cert', 'client-cert-chain'],
    confirm: bound({
      required: bounds === 'required',
      certificateOf,
      checkProof: config && held && publicUrl !== null ? dpop({ ...config, publicUrl }, held.once) : null,
      algorithms,
    }),
    algorithms,
    state: () => held?.state() ?? null,
    release: () => held?.release(),
  }
}

const certificates = ({ from, ca }: MtlsConfig): CertificateOf => {
  if (from === 'connection') return ofConnection
  return clientCert(ca === null ? null : pemBlocks(ca).map((block) => new X509Certificate(block)))
}
