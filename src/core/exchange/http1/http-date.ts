const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

// RFC 9110 §5.6.7; Date.parse accepts much more. Any case of names: RFC 9111 §4.2.
const time = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)'
const month = `(?<month>${months.join('|')})`
const formats: readonly RegExp[] = [
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`, 'i'),
  // rfc850-date
  new RegExp(
    `^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d\\d)-${month}-(?<shortYear>\\d\\d) ${time} GMT$`,
    'i',
  ),
  // asctime-date
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${month} (?<day>\\d\\d| \\d) ${time} (?<year>\\d{4})$`, 'i'),
]

/** Null: not an HTTP-date. `now` places years of two digits. The day's name is not checked. */
export const parseHttpDate = (text: string, now: number): number | null => {
  for (const form of formats) {
    const groups = form.exec(text.trim())?.groups
    if (groups !== undefined) return toEpochMs(groups, now)
  }
  return null
}

export const formatHttpDate = (ms: number): string => new Date(ms).toUTCString()

type Parts = Readonly<Record<string, string | undefined>>

const toEpochMs = (parts: Parts, now: number): number | null => {
  const { day, hour, minute, second, shortYear } = parts
  const year = shortYear === undefined ? Number(parts.year) : fullYear(Number(shortYear), now)
  // 60: a leap second.
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null
  const midnight = new Date(0).setUTCFullYear(year, months.indexOf(capitalized(parts.month ?? '')), Number(day))
  // JavaScript turns February 31 into a day of March.
  if (new Date(midnight).getUTCDate() !== Number(day)) return null
  return midnight + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000
}

const capitalized = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1).toLowerCase()

/** RFC 9110 §5.6.7: a year more than 50 years ahead is the last past year with these digits. */
const fullYear = (digits: number, now: number): number => {
  const thisYear = new Date(now).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + digits
  return year > thisYear + 50 ? year - 100 : year
}
