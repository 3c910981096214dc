import type { Handler } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { systemMs } from '../../lib/clock.ts'

const retryAfterSeconds = 60

/** On the system's monotonic clock; null: `state: reject` in the file. */
export const outOfServiceHandler = (endsAt: number | null): Handler => {
  const retryAfter = (): number =>
    endsAt === null ? retryAfterSeconds : Math.max(1, Math.ceil((endsAt - systemMs()) / 1000))
  const reason = endsAt === null ? 'state-reject' : 'kill-switch'
  return () =>
    Promise.reject(new GatewayError('rejected-by-operator', { reason, fields: ['Retry-After', String(retryAfter())] }))
}
