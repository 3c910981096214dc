import { epochMs } from '../clock.ts'

export const formatTime = (ms: number): string => new Date(ms).toISOString()

export const formatOptionalTime = (ms: number | null | undefined): string | null => (ms == null ? null : formatTime(ms))

/** In UTC; with the date if `at` is of another day. */
export const formatTimeOfDay = (ms: number, at: number): string => {
  const [day = '', ofDay = ''] = formatTime(ms).slice(0, 19).split('T')
  return formatTime(at).startsWith(day) ? ofDay : `${day}T${ofDay}Z`
}

const dayMs = 24 * 3_600_000

export const toExpiry = (notAfter: number) => ({
  notAfter: formatTime(notAfter),
  daysLeft: Math.floor((notAfter - epochMs()) / dayMs),
})

/** Automatic renewal happens earlier; renewal by hand has two weeks. */
export const expiryWarningDays = 14

export const expiryWarningMs = expiryWarningDays * dayMs
