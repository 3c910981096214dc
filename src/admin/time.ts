/** Writes a time as RFC 3339. */
export const time = (ms: number): string => new Date(ms).toISOString()

/** Writes the time of day; of another day, with its date. UTC, as all times are. */
export const timeOfDay = (ms: number, at: number): string => {
  const [day = '', ofDay = ''] = time(ms).slice(0, 19).split('T')
  return time(at).startsWith(day) ? ofDay : `${day}T${ofDay}Z`
}
