import type { RefusalStatus } from '../refusals-answer.ts'

/** Writes a refused request on a line: when, what the client got, who asked for what, and why. */
export const refusalText = (refusal: RefusalStatus): string => {
  const { at, requestId, client, clientId, method, operation, endpoint, status, kind, reason, traceId } = refusal
  const who = clientId === null ? client : `${client} (${clientId})`
  const what = `${method ?? 'no request'} ${operation ?? 'none of the nine'}`
  const where = endpoint === null ? '' : `, at ${endpoint}`
  const ids = [`request ${requestId}`, ...(traceId === null ? [] : [`trace ${traceId}`])].join(', ')
  return `${at}  ${status} ${kind}  ${what}  ${who}  ${reason}${where}  [${ids}]`
}
