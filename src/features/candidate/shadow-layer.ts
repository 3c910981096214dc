import type { Config } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { formatPercent } from '../../core/lib/text/units.ts'
import { listCredentialFields } from '../../core/runtime/credential-fields.ts'
import type { Operation } from '../../operations.ts'
import { DeferredWork } from '../contract/deferred-work.ts'
import type { CandidateShadowConfig } from './config/candidate.ts'
import { type ShadowDestination, shadowLayer } from './layers/shadow.ts'
import { ShadowCopies } from './layers/shadow-copies.ts'

/** A destination that gets nothing, where no traffic is served. */
export const nullShadow: ShadowDestination = {
  send: () => Promise.reject(new TypeError('no traffic is served')),
  isUp: () => false,
  copies: new ShadowCopies(new DeferredWork(() => {}), new DeferredWork(() => {})),
  onPair: null,
  repeats: null,
}

/**
 * Returns the rules by which requests of an operation are copied. A POST is only where the file says that it does no
 * harm. Null: none are.
 */
export const copiesOf = (
  { method }: Pick<Operation, 'method'>,
  rules: CandidateShadowConfig,
): CandidateShadowConfig | null => {
  const { sample, posts, sideEffects } = rules
  return sample > 0 && (method === 'GET' || (posts && sideEffects === 'none')) ? rules : null
}

export const formatShadow = ({ sample, compare }: CandidateShadowConfig): string =>
  `sample: ${formatPercent(sample)}, ${compare === null ? 'not compared' : 'compared'}`

export const createShadowLayer = (
  config: Config,
  { sample, timeout, maxBody, marker, credentials }: CandidateShadowConfig,
  destination: ShadowDestination | null,
): Layer | null =>
  destination &&
  shadowLayer({
    ...destination,
    sample,
    marker,
    maxBody,
    timeoutMs: timeout,
    forwardsCredentials: credentials === 'forward',
    credentialFields: listCredentialFields(config),
    keptFields: Object.values(config.operations).flatMap(({ idempotency }) => idempotency?.header ?? []),
    requestIdField: config.requestId.header?.toLowerCase() ?? null,
  })
