/**
 * The statuses whose responses may count as fresh without saying so: those of RFC 9110 §15.1, except 206, as parts are
 * not stored.
 */
export const heuristicStatuses: readonly number[] = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
