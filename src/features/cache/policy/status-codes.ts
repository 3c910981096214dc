/**
 * The statuses whose responses may count as fresh without saying so: those of RFC 9110 §15.1, except 206, as parts are
 * not stored.
 */
export const heuristicStatuses: readonly number[] = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

/** Tells whether a response of this status may count as fresh without saying so (RFC 9111 §4.2.2). */
export const isHeuristicallyCacheable = (status: number): boolean => heuristicStatuses.includes(status)

// Those of RFC 9110 §15. None but 206 and 304 asks a cache for more than to keep it.
const understoodStatuses = new Set([
  200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 305, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409,
  410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 426, 500, 501, 502, 503, 504, 505,
])

/**
 * Tells whether the gateway does all that a status asks of a cache: the subject of `must-understand` (RFC 9111
 * §5.2.2.3).
 */
export const isUnderstoodStatus = (status: number): boolean => understoodStatuses.has(status)

/**
 * Tells whether a response of this status may be stored at all (RFC 9111 §3). 206 and 304 are no whole responses, and a
 * status above 599 is none.
 */
export const isStorableStatus = (status: number): boolean =>
  status >= 200 && status <= 599 && status !== 206 && status !== 304

/**
 * Tells whether a status is the server's own failure, and says nothing of the resource. An unknown one counts as 500
 * (RFC 9110 §15).
 */
export const isServerError = (status: number): boolean => status >= 500

const clientFaultStatuses = new Set([
  400, 406, 408, 411, 412, 413, 414, 415, 416, 417, 421, 422, 425, 426, 428, 429, 431,
])

/**
 * Tells whether a status is about how, or how often, the client asked, and not about the resource: any client can cause
 * one, for example by a field that is too long.
 */
export const isClientFaultStatus = (status: number): boolean => clientFaultStatuses.has(status)

/**
 * Tells whether a status is about who asked (RFC 9110 §15.5.2, §15.5.4, §15.5.8). A firewall before the upstream
 * answers a bait with one, too.
 */
export const isClientRefusalStatus = (status: number): boolean => status === 401 || status === 403 || status === 407
