import { epochMs } from '../../clock.ts'
import type { Handler } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'

const retryAfterSeconds = 60

/**
 * Makes the handle of an operation that the operator has taken out of service, by `state: refuse` or, until a moment (milliseconds since
 * the epoch), by an override. It stands in place of all that would be behind it.
 */
export const outOfServiceHandler = (until: number | null): Handler => {
  const seconds = (): number =>
    until === null ? retryAfterSeconds : Math.max(1, Math.ceil((until - epochMs()) / 1000))
  const reason = until === null ? 'state-refuse' : 'kill-switch'
  return () =>
    Promise.reject(new GatewayError('refused-by-operator', { reason, fields: ['Retry-After', String(seconds())] }))
}
