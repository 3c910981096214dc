import { wallClock } from '../clock.ts'

/** Writes a time as RFC 3339. */
export const time = (ms: number): string => new Date(ms).toISOString()

/** Writes the time of day; of another day, with its date. UTC, as all times are. */
export const timeOfDay = (ms: number, at: number): string => {
  const [day = '', ofDay = ''] = time(ms).slice(0, 19).split('T')
  return time(at).startsWith(day) ? ofDay : `${day}T${ofDay}Z`
}

const dayMs = 24 * 3_600_000

/** Tells when a certificate ends; `daysLeft` is below 0 when it has. */
export const endOf = (notAfter: number) => ({
  notAfter: time(notAfter),
  daysLeft: Math.floor((notAfter - wallClock()) / dayMs),
})

/** Rounds to tenths. */
export const tenths = (value: number): number => Math.round(value * 10) / 10
