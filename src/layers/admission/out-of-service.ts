import { epochMs } from '../../clock.ts'
import type { Handler } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'

const retryAfterSeconds = 60

/**
 * Creates the handler of an operation that the operator has taken out of service: by `state: refuse`, or by an override
 * until a moment in milliseconds since the epoch. It replaces every layer that would follow.
 */
export const outOfServiceHandler = (until: number | null): Handler => {
  const retryAfter = (): number =>
    until === null ? retryAfterSeconds : Math.max(1, Math.ceil((until - epochMs()) / 1000))
  const reason = until === null ? 'state-refuse' : 'kill-switch'
  return () =>
    Promise.reject(new GatewayError('refused-by-operator', { reason, fields: ['Retry-After', String(retryAfter())] }))
}
