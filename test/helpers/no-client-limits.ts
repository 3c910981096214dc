import type { ClientLimits } from '../../src/snapshot/client-limits.ts'

/** Bounds nobody. */
export const noClientLimits: ClientLimits = {
  rated: 0,
  bounded: 0,
  limiterOf: () => undefined,
  boundOf: () => null,
  state: () => null,
  release: () => {},
}
