import { Exchange } from '../../exchange.ts'

/**
 * Makes an exchange of the gateway's own out of the one that causes it: it asks for the same, and the client's leaving does not end it. Interim
 * answers go to that client as long as it waits (RFC 9110 §15.2), unless the fetch is behind its back.
 */
export const ownExchange = (cause: Exchange, isUnasked: boolean): Exchange => {
  const { operation, client, sender, query, fields, authority, body, onInterim } = cause
  const relayed =
    isUnasked || onInterim === null
      ? null
      : (status: number, interim: Exchange['fields']): void => {
          if (cause.aborted === null) onInterim(status, interim)
        }
  const own = new Exchange({ operation, client, sender, query, fields, authority, body, onInterim: relayed })
  own.identity = cause.identity
  own.trace = cause.trace
  return own
}
