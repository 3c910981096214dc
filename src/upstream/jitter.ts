/** Spreads a pause by ±10 %, in milliseconds: many endpoints, and many gateways, must not ask or be asked all at once. */
export const jittered = (ms: number, random: () => number = Math.random): number =>
  Math.round(ms * (1 - jitter + 2 * jitter * random()))

const jitter = 0.1
