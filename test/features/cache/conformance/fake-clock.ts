import { vi } from 'vitest'
import type { Clock } from './origin.ts'

/** Moves the faked time of day and the monotonic clock together, but for the way back to the begin of a row. */
export const fakeClock: Clock = {
  now: () => Date.now(),
  set: (ms) => void (ms > Date.now() ? vi.advanceTimersByTime(ms - Date.now()) : vi.setSystemTime(ms)),
}
