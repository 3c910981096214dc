import { GatewayError } from '../errors.ts'
import { connectFailed } from './connect.ts'
import { isMalformed, isRefusal } from './undici-errors.ts'
import { whyOf } from './why.ts'

/** Makes a failure of what undici reports, by how far the request had come: it waits for a connection, it has gone out, the answer's head is there. */
export const failureOf = (error: Error, state: 'unsent' | 'sent' | 'answered'): GatewayError => {
  // Thrown by the connector, by the request's own body, or by what the answer's head held.
  if (error instanceof GatewayError) return error
  if (isRefusal(error)) return new GatewayError('internal', { cause: error })
  if (state === 'unsent') return connectFailed(error)
  const kind = state === 'answered' ? 'truncated' : isMalformed(error) ? 'bad-answer' : 'reset-before-headers'
  return new GatewayError(kind, { reason: whyOf(error), cause: error })
}
