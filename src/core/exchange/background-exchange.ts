import { Exchange } from './exchange.ts'

/**
 * Creates an exchange of the gateway's own from the one that causes it: it asks for the same, and the client's leaving
 * does not end it. Interim responses go to that client as long as it waits (RFC 9110 §15.2), unless the exchange is
 * `isDetached` from the beginning.
 */
export const createBackgroundExchange = (cause: Exchange, isDetached = false): Exchange => {
  const { requestId, operation, client, peer, query, fields, authority, body, onInterim } = cause
  const relayed =
    isDetached || onInterim === null
      ? null
      : (status: number, interim: Exchange['fields']): void => {
          if (cause.aborted === null) onInterim(status, interim)
        }
  const own = new Exchange({ requestId, operation, client, peer, query, fields, authority, body, onInterim: relayed })
  own.identity = cause.identity
  own.trace = cause.trace
  own.side = cause.side
  own.interactionId = cause.interactionId
  own.addedResponseFields = cause.addedResponseFields
  return own
}

export const adoptAttempts = (exchange: Exchange, own: Exchange): void => {
  exchange.attempt = own.attempt
  exchange.attempts += own.attempts
  exchange.fellBack ||= own.fellBack
  exchange.wasSent ||= own.wasSent
  exchange.failedAttempts ??= own.failedAttempts
}
