import { Exchange } from './exchange.ts'

/**
 * Creates an exchange of the gateway's own from the one that causes it: it asks for the same, and the client's leaving
 * does not end it. Its attempts are those of its cause, and interim responses go to the client as long as it waits (RFC
 * 9110 §15.2), unless the exchange is `isDetached` from the beginning.
 */
export const createBackgroundExchange = (cause: Exchange, isDetached = false): Exchange => {
  const { requestId, operation, client, peer, query, fields, authority, body, onInterim } = cause
  const relayed =
    isDetached || onInterim === null
      ? null
      : (status: number, interim: Exchange['fields']): void => {
          if (cause.aborted === null) onInterim(status, interim)
        }
  const init = { requestId, operation, client, peer, query, fields, authority, body, onInterim: relayed }
  const own = isDetached ? new Exchange(init) : new Exchange(init, cause.attempts)
  own.identity = cause.identity
  own.trace = cause.trace
  own.side = cause.side
  own.interactionId = cause.interactionId
  own.addedResponseFields = cause.addedResponseFields
  return own
}
