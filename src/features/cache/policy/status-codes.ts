/** RFC 9110 §15.1, without 206: the gateway stores no parts. */
export const heuristicStatuses: readonly number[] = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

/** RFC 9111 §4.2.2 */
export const isHeuristicallyCacheable = (status: number): boolean => heuristicStatuses.includes(status)

// RFC 9110 §15. Only 206 and 304 ask more of a cache.
const understoodStatuses = new Set([
  200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 305, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409,
  410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 426, 500, 501, 502, 503, 504, 505,
])

/** For `must-understand` (RFC 9111 §5.2.2.3). */
export const isUnderstoodStatus = (status: number): boolean => understoodStatuses.has(status)

/** RFC 9111 §3. 206 and 304 are partial; above 599 is invalid. */
export const isStorableStatus = (status: number): boolean =>
  status >= 200 && status <= 599 && status !== 206 && status !== 304

/** Says nothing about the resource. Unknown statuses count as 500 (RFC 9110 §15). */
export const isServerError = (status: number): boolean => status >= 500

const clientFaultStatuses = new Set([
  400, 406, 408, 411, 412, 413, 414, 415, 416, 417, 421, 422, 425, 426, 428, 429, 431,
])

/** About how, or how often, the client asked: any client can cause one, for example by a long field. */
export const isClientFaultStatus = (status: number): boolean => clientFaultStatuses.has(status)

/** RFC 9110 §15.5.2, §15.5.4, §15.5.8: about the client. A firewall may send one for a malicious request. */
export const isClientRejectionStatus = (status: number): boolean => status === 401 || status === 403 || status === 407
