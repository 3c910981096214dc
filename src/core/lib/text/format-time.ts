export const formatTime = (ms: number): string => new Date(ms).toISOString()

export const formatOptionalTime = (ms: number | null | undefined): string | null => (ms == null ? null : formatTime(ms))

/** In UTC; with the date if `at` is of another day. */
export const formatTimeOfDay = (ms: number, at: number): string => {
  const [day = '', ofDay = ''] = formatTime(ms).slice(0, 19).split('T')
  return formatTime(at).startsWith(day) ? ofDay : `${day}T${ofDay}Z`
}
