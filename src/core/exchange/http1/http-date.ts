const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

// RFC 9110 §5.6.7, exactly: much that is a date to Date.parse is none here. Senders keep to the case of the names, and
// a cache is to read them in any (RFC 9111 §4.2).
const time = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)'
const month = `(?<month>${months.join('|')})`
const formats: readonly RegExp[] = [
  // IMF-fixdate, the form that is written today.
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`, 'i'),
  // rfc850-date
  new RegExp(
    `^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d\\d)-${month}-(?<shortYear>\\d\\d) ${time} GMT$`,
    'i',
  ),
  // asctime-date
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${month} (?<day>\\d\\d| \\d) ${time} (?<year>\\d{4})$`, 'i'),
]

/**
 * Parses an HTTP-date in any of its three forms as milliseconds since the epoch; null for anything else. `now` places
 * the years of two digits. The name of the day is not compared with the date: it adds nothing.
 */
export const parseHttpDate = (text: string, now: number): number | null => {
  for (const form of formats) {
    const groups = form.exec(text.trim())?.groups
    if (groups !== undefined) return toEpochMs(groups, now)
  }
  return null
}

/** Writes an HTTP-date: an IMF-fixdate, in whole seconds. */
export const formatHttpDate = (ms: number): string => new Date(ms).toUTCString()

type Parts = Readonly<Record<string, string | undefined>>

const toEpochMs = (parts: Parts, now: number): number | null => {
  const { day, hour, minute, second, shortYear } = parts
  const year = shortYear === undefined ? Number(parts.year) : fullYear(Number(shortYear), now)
  // 60: a leap second, which the day's last minute may have.
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null
  const midnight = new Date(0).setUTCFullYear(year, months.indexOf(capitalised(parts.month ?? '')), Number(day))
  // JavaScript takes the 31st of February for another day; the calendar has none.
  if (new Date(midnight).getUTCDate() !== Number(day)) return null
  return midnight + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000
}

const capitalised = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1).toLowerCase()

/** Expands a year of two digits: one that would be more than 50 years ahead is the last past year that ends so. */
const fullYear = (digits: number, now: number): number => {
  const thisYear = new Date(now).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + digits
  return year > thisYear + 50 ? year - 100 : year
}
