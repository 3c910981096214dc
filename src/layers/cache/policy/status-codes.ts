// RFC 9110 §15.1, but for 206: parts are not stored.
const heuristicStatuses = new Set([200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])

/** Tells whether an answer of this status may be taken for fresh without saying so (RFC 9111 §4.2.2). */
export const isHeuristicallyCacheable = (status: number): boolean => heuristicStatuses.has(status)

// Those of RFC 9110 §15. None but 206 and 304 asks a cache for more than to keep it.
const understoodStatuses = new Set([
  200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 305, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409,
  410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 426, 500, 501, 502, 503, 504, 505,
])

/** Tells whether all that a status asks of a cache is done here: what `must-understand` is about (RFC 9111 §5.2.2.3). */
export const isUnderstoodStatus = (status: number): boolean => understoodStatuses.has(status)

/** Tells whether an answer of this status may be stored at all (RFC 9111 §3): 206 and 304 are no whole answers, and what is above 599 is none. */
export const isStorableStatus = (status: number): boolean =>
  status >= 200 && status <= 599 && status !== 206 && status !== 304

/**
 * Tells whether a status is the server's own failure, and says nothing of the resource. One that is not known counts as 500 (RFC 9110 §15).
 */
export const isServerError = (status: number): boolean => status >= 500

const clientFaultStatuses = new Set([
  400, 406, 408, 411, 412, 413, 414, 415, 416, 417, 421, 422, 425, 426, 428, 429, 431,
])

/**
 * Tells whether a status is about how it was asked, or how often, and not about what was asked for: anybody can have one answered, by a field that
 * is too long, say.
 */
export const isClientFaultStatus = (status: number): boolean => clientFaultStatuses.has(status)
