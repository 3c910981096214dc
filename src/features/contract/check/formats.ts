import { createAddressFormats, type Format } from './address-formats.ts'
import { StepBudget } from './step-budget.ts'

/** Each takes time linear in a client's text, and no stack. `regex` is missing: it would compile a client's text. */
export const createFormats = (steps: StepBudget): Readonly<Record<string, Format>> => ({
  date: isDate,
  time: isTime,
  'date-time': isDateTime,
  'iso-time': isIsoTime,
  'iso-date-time': isIsoDateTime,
  duration: durationText,
  ...createAddressFormats(steps),
  uuid: /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i,
  'json-pointer': isJsonPointer,
  'json-pointer-uri-fragment': isPointerFragment,
  'relative-json-pointer': isRelativeJsonPointer,
  byte: isByte,
  // OpenAPI Format Registry.
  int32: numbers((value) => Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31),
  // The largest int64, 2^63 − 1, is read as the double 2^63.
  int64: numbers((value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 63),
  float: numbers((value) => Number.isFinite(Math.fround(value))),
  double: numbers(Number.isFinite),
  password: true,
  binary: true,
})

const numbers = (validate: (value: number) => boolean): Format => ({ type: 'number', validate })

/** RFC 4648 §4, padded, with zeros for the bits behind the last byte (§3.5). */
function isByte(text: string): boolean {
  if (text.length % 4 !== 0) return false
  const digits = text.endsWith('==') ? -2 : text.endsWith('=') ? -1 : text.length
  if (/[^a-z\d+/]/i.test(text.slice(0, digits))) return false
  return digits > 0 || text === '' || (digits === -2 ? /[AQgw]==$/ : /[AEIMQUYcgkosw048]=$/).test(text)
}

/** RFC 6901 §3. */
const isJsonPointer = (text: string): boolean => (text === '' || text[0] === '/') && !/~(?![01])/.test(text)

/** RFC 6901 §6. */
const isPointerFragment = (text: string): boolean =>
  text[0] === '#' && isJsonPointer(text.slice(1)) && !/[^\w\-.!$&'()*+,;:=@%~/]|%(?![\da-f]{2})/i.test(text.slice(1))

/** draft-bhutton-relative-json-pointer-00 §3. */
const isRelativeJsonPointer = (text: string): boolean => {
  const [start = '', shift] = /^(?:0|[1-9]\d*)([+-](?:0|[1-9]\d*))?/.exec(text) ?? []
  const rest = text.slice(start.length)
  return start !== '' && (isJsonPointer(rest) || (rest === '#' && shift === undefined))
}

const dateText = /^(\d{4})-(\d\d)-(\d\d)$/
const timeText = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))?$/i

/** RFC 3339 §5.6: `full-date`. */
export const isDate = (text: string): boolean => {
  const found = dateText.exec(text)
  if (found === null) return false
  const [month, day] = [Number(found[2]), Number(found[3])]
  return month >= 1 && month <= 12 && day >= 1 && (day <= 28 || day <= daysOf(Number(found[1]), month))
}

/** RFC 3339 §5.6: `full-time`. */
const isTime = (text: string): boolean => hasOffset(text) && isIsoTime(text)

/** RFC 3339 §5.6: `date-time`. */
const isDateTime = (text: string): boolean =>
  (text[10] === 'T' || text[10] === 't') && hasOffset(text) && isIsoDateTime(text)

/** ajv-formats: a `full-time` that may lack the offset. */
const isIsoTime = (text: string): boolean => findLeapDay(text) !== null

/** ajv-formats: a `date-time` that may lack the offset, or have a space for T. */
const isIsoDateTime = (text: string): boolean => {
  const date = text.slice(0, 10)
  const leapDay = 'Tt '.includes(text.charAt(10)) && isDate(date) ? findLeapDay(text.slice(11)) : null
  if (leapDay === null || leapDay === 'any') return leapDay !== null
  // RFC 3339 §5.7: leap seconds come at the end of a month in UTC.
  const next = new Date(date)
  next.setUTCDate(next.getUTCDate() + (leapDay + 1))
  return next.getUTCDate() === 1
}

const hasOffset = (text: string): boolean => {
  const last = text.at(-1)
  return last === 'Z' || last === 'z' || /^[+-]/.test(text.slice(-6))
}

/** Returns the days between the local date of a leap second and its UTC date. `any`: no leap second; null: no time. */
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

// The calendar repeats after 400 years; Date.UTC takes the years 0 to 99 for 1900 to 1999.
const daysOf = (year: number, month: number): number => new Date(Date.UTC(400 + year, month, 0)).getUTCDate()

const time = String.raw`T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)`
const date = String.raw`(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)`

/** RFC 3339 appendix A: a unit in the middle may not be left out. */
const durationText = new RegExp(String.raw`^P(?:\d+W|${date}(?:${time})?|${time})$`)

export const formats: Readonly<Record<string, Format>> = createFormats(new StepBudget(Number.POSITIVE_INFINITY))
