export const formatTime = (ms: number): string => new Date(ms).toISOString()

export const formatOptionalTime = (ms: number | null | undefined): string | null => (ms == null ? null : formatTime(ms))

/** In UTC; with the date if `at` is of another day. */
export const formatTimeOfDay = (ms: number, at: number): string => {
  const [day = '', ofDay = ''] = formatTime(ms).slice(0, 19).split('T')
  return formatTime(at).startsWith(day) ? ofDay : `${day}T${ofDay}Z`
}

/** At most two units: `3d 4h`, `12m 5s`, `0s`. */
export const humanizeSeconds = (seconds: number): string => {
  const whole = Math.max(0, Math.floor(seconds))
  const of = (length: number): number => Math.floor(whole / length)
  const parts = [`${of(86_400)}d`, `${of(3600) % 24}h`, `${of(60) % 60}m`, `${whole % 60}s`]
  const first = parts.findIndex((part) => !part.startsWith('0'))
  return first === -1
    ? '0s'
    : parts
        .slice(first, first + 2)
        .filter((part) => !part.startsWith('0'))
        .join(' ')
}

export const formatAgo = (time: string, at: number): string => {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : `${formatInstant(ms)}, ${humanizeSeconds((at - ms) / 1000)} ago`
}

export const formatTimeLeft = (time: string, at: number): string => {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : `${formatInstant(ms)}, ${humanizeSeconds(Math.ceil((ms - at) / 1000))} left`
}

/** A gateway's response may have a time that no calendar has. */
export const formatInstant = (ms: number): string => {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? 'at no valid time' : `${time.toISOString().slice(0, 19)}Z`
}

export const timesBeside = (at: number) => ({
  since: (time: string) => formatAgo(time, at),
  until: (time: string) => formatTimeLeft(time, at),
})
