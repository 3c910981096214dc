import type { Config, UpstreamConfig } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { foldUnderscores } from '../../core/exchange/header-fields.ts'
import type { OperationIdempotencyConfig } from './config.ts'
import { idempotencyLayer } from './idempotency.ts'
import type { IdempotencyLease } from './idempotency-registry.ts'

/** Creates the layer that sees to it that a POST with a key happens once. Null: the process does not remember. */
export const createIdempotencyLayer = (
  { config, idempotency }: { readonly config: Config; readonly idempotency: IdempotencyLease | null },
  rules: OperationIdempotencyConfig,
  deadline: number | null,
): Layer | null =>
  idempotency &&
  idempotencyLayer(rules, {
    ...idempotency,
    credentialFields: ['authorization', 'cookie', ...config.cache.credentials],
    maxKeysPerClient: config.idempotency.maxKeysPerClient,
    maxClaimMs: shorterThan(config.idempotency.redis?.timeout ?? 0, deadline),
  })

const shorterThan = (ms: number, other: number | null): number | null => (other !== null && other < ms ? other : null)

export const formatIdempotency = ({ header, required, onUnknown }: OperationIdempotencyConfig): string =>
  `${header}, required: ${required}, onUnknown: ${onUnknown}`

/**
 * Returns the field of the key by which the upstream recognises a request; null: it recognises none. A key that is
 * removed or replaced on the way does not keep a request from being done twice.
 */
export const keyFieldOf = (
  idempotency: OperationIdempotencyConfig | null,
  { set, remove }: UpstreamConfig['request'],
): string | null => {
  if (idempotency?.onUnknown !== 'forward') return null
  const { header } = idempotency
  const edited = [...remove, ...set.map(({ name }) => name)]
  return edited.some((name) => foldUnderscores(name) === header) ? null : header
}
