const units = [
  { length: 86_400, name: 'd' },
  { length: 3600, name: 'h' },
  { length: 60, name: 'm' },
  { length: 1, name: 's' },
]

/** Formats a duration in at most two units: `3d 4h`, `12m 5s`, `0s`. */
export const humanizeSeconds = (seconds: number): string => {
  let rest = Math.max(0, Math.floor(seconds))
  const parts = units.map(({ length, name }) => {
    const amount = Math.floor(rest / length)
    rest -= amount * length
    return { amount, text: `${amount}${name}` }
  })
  const first = parts.findIndex(({ amount }) => amount > 0)
  const shown = first === -1 ? parts.slice(-1) : parts.slice(first, first + 2).filter(({ amount }) => amount > 0)
  return shown.map(({ text }) => text).join(' ')
}

/** Formats an RFC 3339 time without its fraction, and how long before `at` it was. */
export const formatAgo = (time: string, at: number): string => {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : `${formatInstant(ms)}, ${humanizeSeconds((at - ms) / 1000)} ago`
}

/** Formats an RFC 3339 time without its fraction, and how long after `at` it is. */
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
