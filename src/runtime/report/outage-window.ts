/** Is what is known of requests that go the same way: to an endpoint, or to a group. Times are milliseconds since the epoch. */
export interface OutageWindow {
  /** When one last went well; null: none has. */
  readonly succeededAt: number | null
  /** When the first failed since then; null: none has. */
  readonly failingSince: number | null
}

/**
 * Puts together what several endpoints, or several workers, know: nothing has gone well since the last success of any of them, and what
 * failed for one of them before that is no part of the outage.
 */
export const mergeOutageWindows = (each: readonly OutageWindow[]): OutageWindow => {
  const succeeded = each.flatMap(({ succeededAt }) => succeededAt ?? [])
  const succeededAt = succeeded.length === 0 ? null : Math.max(...succeeded)
  const failing = each.flatMap(({ failingSince }) => failingSince ?? []).filter((at) => at >= (succeededAt ?? 0))
  return { succeededAt, failingSince: earliest(failing) }
}

/** Finds the first; null: there is none. */
export const earliest = (times: readonly number[]): number | null => (times.length === 0 ? null : Math.min(...times))
