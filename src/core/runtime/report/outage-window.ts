/** Times are milliseconds since the epoch. */
interface OutageWindow {
  /** When a request last succeeded. Null: none has. */
  readonly succeededAt: number | null
  /** When the first request failed since then. Null: none has. */
  readonly failingSince: number | null
}

/**
 * Merges the windows of several endpoints, or of several workers: nothing has succeeded since the last success of any
 * of them, and a failure before that is no part of the outage.
 */
export const mergeOutageWindows = (windows: readonly OutageWindow[]): OutageWindow => {
  const succeeded = windows.flatMap(({ succeededAt }) => succeededAt ?? [])
  const succeededAt = succeeded.length === 0 ? null : Math.max(...succeeded)
  const failing = windows.flatMap(({ failingSince }) => failingSince ?? []).filter((at) => at >= (succeededAt ?? 0))
  return { succeededAt, failingSince: earliest(failing) }
}

export const earliest = (times: readonly number[]): number | null => (times.length === 0 ? null : Math.min(...times))
