import { epochMs, now, unrefTimeout } from '../../../core/lib/clock.ts'

/** Times are milliseconds since the epoch. `error` null: the server is available. */
export type DependencyHealthState = ReturnType<typeof trackHealth>['state']

/**
 * `onChange` gets the error, or null after a success and `recoveryMs` without a failure: a flapping server does not
 * fill the log.
 */
export const trackHealth = (onChange: (error: string | null) => void, recoveryMs: number) => {
  const state = { error: null as string | null, since: epochMs(), lastSuccess: null as number | null }
  let failedAt = 0
  let stopRecovery = (): void => {}
  const change = (error: string | null): void => {
    Object.assign(state, { error, since: epochMs() })
    onChange(error)
  }
  return {
    state: state as Readonly<typeof state>,
    recordSuccess(): void {
      state.lastSuccess = epochMs()
      if (state.error === null) return
      stopRecovery()
      const remainingMs = failedAt + recoveryMs - now()
      if (remainingMs <= 0) return change(null)
      // The next success may be hours away; until then operators would see an outage.
      stopRecovery = unrefTimeout(remainingMs, () => change(null))
    },
    /** Another process had a success. This process may still not reach the server. */
    recordPeerSuccess(at: number): void {
      state.lastSuccess = at
    },
    recordFailure(error: string): void {
      stopRecovery()
      failedAt = now()
      if (state.error === null) change(error)
      else state.error = error
    },
  }
}
