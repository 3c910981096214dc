import { epochMs } from '../clock.ts'

/** Formats a time as RFC 3339. */
export const formatTime = (ms: number): string => new Date(ms).toISOString()

export const formatOptionalTime = (ms: number | null | undefined): string | null => (ms == null ? null : formatTime(ms))

/** Formats the time of day; of another day, with its date. UTC, as all times are. */
export const formatTimeOfDay = (ms: number, at: number): string => {
  const [day = '', ofDay = ''] = formatTime(ms).slice(0, 19).split('T')
  return formatTime(at).startsWith(day) ? ofDay : `${day}T${ofDay}Z`
}

const dayMs = 24 * 3_600_000

/** Describes when a certificate expires; `daysLeft` is below 0 when it has. */
export const toExpiry = (notAfter: number) => ({
  notAfter: formatTime(notAfter),
  daysLeft: Math.floor((notAfter - epochMs()) / dayMs),
})

/**
 * How many days before its end a certificate is reported. Automatic renewal happens earlier; renewal by hand has two
 * weeks.
 */
export const expiryWarningDays = 14

/** The same in milliseconds. */
export const expiryWarningMs = expiryWarningDays * dayMs
