import { epochMs } from './clock.ts'
import { formatTime } from './text/format-time.ts'

const dayMs = 24 * 3_600_000

export const toExpiry = (notAfter: number) => ({
  notAfter: formatTime(notAfter),
  daysLeft: Math.floor((notAfter - epochMs()) / dayMs),
})

/** Automatic renewal happens earlier; renewal by hand has two weeks. */
export const expiryWarningDays = 14

export const expiryWarningMs = expiryWarningDays * dayMs
