/** Names the loopback addresses on which the one upstream process listens, for a peer that has several endpoints. */

const host = (set: number, index: number): string => `127.0.${set}.${index}`

/** Lists the first `count` of a set of at most 254 addresses. The set 0 begins with 127.0.0.1. */
export const addresses = (count: number, set = 0): readonly string[] =>
  Array.from({ length: count }, (_, index) => host(set, index + 1))
