const dateText = /^(\d{4})-(\d\d)-(\d\d)$/
const timeText = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))?$/i

/** Tells whether a text is a `full-date` of RFC 3339 §5.6. */
export const isDate = (text: string): boolean => {
  const found = dateText.exec(text)
  if (found === null) return false
  const [month, day] = [Number(found[2]), Number(found[3])]
  return month >= 1 && month <= 12 && day >= 1 && (day <= 28 || day <= daysOf(Number(found[1]), month))
}

/** Tells whether a text is a `full-time` of RFC 3339 §5.6. */
export const isTime = (text: string): boolean => hasOffset(text) && isIsoTime(text)

/** Tells whether a text is a `date-time` of RFC 3339 §5.6. */
export const isDateTime = (text: string): boolean =>
  (text[10] === 'T' || text[10] === 't') && hasOffset(text) && isIsoDateTime(text)

/** Tells whether a text is a `full-time` that may lack the offset: `iso-time` of ajv-formats. */
export const isIsoTime = (text: string): boolean => findLeapDay(text) !== null

/** Tells whether a text is a `date-time` that may lack the offset, or have a space for T: `iso-date-time` there. */
export const isIsoDateTime = (text: string): boolean => {
  const date = text.slice(0, 10)
  const leapDay = 'Tt '.includes(text.charAt(10)) && isDate(date) ? findLeapDay(text.slice(11)) : null
  if (leapDay === null || leapDay === 'any') return leapDay !== null
  // RFC 3339 §5.7: leap seconds come at the end of a month, of UTC.
  const next = new Date(date)
  next.setUTCDate(next.getUTCDate() + (leapDay + 1))
  return next.getUTCDate() === 1
}

const hasOffset = (text: string): boolean => {
  const last = text.at(-1)
  return last === 'Z' || last === 'z' || /^[+-]/.test(text.slice(-6))
}

/**
 * Finds on which day a time is that of a leap second: that of its date in UTC, by so many days apart from the local
 * one. `any`: it is another second; null: it is no time.
 */
const findLeapDay = (text: string): number | 'any' | null => {
  const found = timeText.exec(text)
  if (found === null) return null
  const [hour, minute, second] = [Number(found[1]), Number(found[2]), Number(found[3])]
  const [offsetHour, offsetMinute] = [Number(found[5] ?? 0), Number(found[6] ?? 0)]
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return null
  if (second < 60) return 'any'
  const offset = (offsetHour * 60 + offsetMinute) * (found[4] === '-' ? -1 : 1)
  const inUtc = hour * 60 + minute - offset
  const day = Math.floor(inUtc / minutesOfDay)
  return inUtc - day * minutesOfDay === minutesOfDay - 1 ? day : null
}

const minutesOfDay = 24 * 60

const daysOf = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

const time = String.raw`T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)`
const date = String.raw`(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)`

/** The texts of RFC 3339 appendix A: a unit in the middle may not be left out. */
export const durationText = new RegExp(String.raw`^P(?:\d+W|${date}(?:${time})?|${time})$`)
